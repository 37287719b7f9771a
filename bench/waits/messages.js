// Two workers that pass a message to and fro for the milliseconds given; prints hand-overs a second.
const { Worker, isMainThread, parentPort, workerData, MessageChannel } = require('node:worker_threads');

if (isMainThread) {
    const { port1, port2 } = new MessageChannel();
    const milliseconds = Number(process.argv[2] ?? 400);
    const answering = new Worker(__filename, { workerData: { port: port1 }, transferList: [port1] });
    const asking = new Worker(__filename, { workerData: { port: port2, milliseconds }, transferList: [port2] });
    asking.on('message', (rate) => {
        console.log(rate);
        answering.terminate();
        asking.terminate();
    });
} else if (workerData.milliseconds === undefined) {
    workerData.port.on('message', (value) => workerData.port.postMessage(value + 1));
} else {
    const { port, milliseconds } = workerData;
    // The first ones are compiled and find the other worker starting.
    let count = 0, begin = 0;
    port.on('message', (value) => {
        count++;
        const now = performance.now();
        if (count === 500) {
            begin = now;
        } else if (count > 500 && now - begin >= milliseconds) {
            parentPort.postMessage((2 * (count - 500)) / ((now - begin) / 1e3));
            return;
        }
        port.postMessage(value + 1);
    });
    port.postMessage(0);
}
