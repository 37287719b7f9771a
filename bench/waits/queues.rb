# Two threads that pass a number to and fro through two queues for the milliseconds given; prints hand-overs a second.
there, back = Queue.new, Queue.new
Thread.new do
  while (value = there.pop)
    back.push(value + 1)
  end
end
seconds = ARGV[0].to_f / 1e3
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
200.times do
  there.push(0)
  back.pop
end
count, start = 0, now.call
while (took = now.call - start) < seconds
  there.push(count)
  back.pop
  count += 1
end
there.push(nil)
puts 2 * count / took
