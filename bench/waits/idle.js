// A server of HTTP that nobody asks.
require('node:http').createServer((_, answer) => answer.end('x')).listen(process.argv[2]);
