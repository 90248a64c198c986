/** A runtime of contract v1 on bare node:http, as cheap as Node can be: every task is completed with a text. */
import http from "node:http";

const JSON_TYPE = { "content-type": "application/json" };
const CARD = {
  name: "bench",
  description: "Completes every task.",
  version: "1.0.0",
  defaultInputModes: ["text"],
  defaultOutputModes: ["text"],
  skills: [{ id: "work", name: "Work", description: "Completes every task.", tags: ["bench"] }],
  capabilities: { streaming: false },
};
const PAGES = { "/health": { status: "ok" }, "/.well-known/agent-card.json": CARD };

function complete({ message: { taskId } }) {
  return {
    id: taskId,
    status: { state: "completed" },
    artifacts: [{ artifactId: "out", parts: [{ text: `done ${taskId}` }] }],
  };
}

function answer(res, status, body) {
  const bytes = Buffer.from(JSON.stringify(body));
  res.writeHead(status, { ...JSON_TYPE, "content-length": bytes.length }).end(bytes);
}

const server = http.createServer((req, res) => {
  const page = PAGES[req.url];
  if (req.method !== "POST") return answer(res, page ? 200 : 404, page ?? {});
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => answer(res, 200, complete(JSON.parse(Buffer.concat(chunks)))));
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
