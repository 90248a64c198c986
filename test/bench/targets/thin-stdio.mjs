/** The floor for stdio: node:http in, one child, ids mapped, the lines of one tick in one write, answers parsed and restored. */
import { spawn } from "node:child_process";
import http from "node:http";

const { command } = JSON.parse(process.argv[2]);
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let nextId = 1;
let outgoing = "";
let rest = Buffer.alloc(0);

const server = http.createServer((req, res) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () =>
    relay(JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)), res),
  );
});

function relay(message, res) {
  const id = nextId++;
  waiting.set(id, { res, id: message.id });
  if (outgoing === "") setImmediate(flush);
  outgoing += `${JSON.stringify({ ...message, id })}\n`;
}

function flush() {
  child.stdin.write(outgoing);
  outgoing = "";
}

child.stdout.on("data", (chunk) => {
  let buffer = rest.length ? Buffer.concat([rest, chunk]) : chunk;
  for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10)) {
    answer(JSON.parse(buffer.toString("utf8", 0, end)));
    buffer = buffer.subarray(end + 1);
  }
  rest = buffer;
});

function answer(message) {
  const { res, id } = waiting.get(message.id);
  waiting.delete(message.id);
  const body = Buffer.from(JSON.stringify({ ...message, id }));
  res
    .writeHead(200, { "content-type": "application/json", "content-length": body.length })
    .end(body);
}

server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
