// An HTTP server without clients.
require('node:http').createServer((_, answer) => answer.end('x')).listen(process.argv[2]);
