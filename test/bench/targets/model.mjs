/**
 * An OpenAI-compatible model that takes a few seconds for every turn and then wants to append to its payload, without end: agents
 * behind it run for as long as nobody stops them.
 */
import { createServer } from "node:http";

/**
 * Least and most milliseconds of a turn: agents do not march in step. Faster ones would have transcripts of hundreds of messages
 * by the end, which the AI SDK checks with every turn: that would be measured, and not what it is about.
 */
const TURN_MS = [2_000, 6_000];

createServer((req, res) => {
  let body = "";
  req.on("data", (chunk) => (body += chunk));
  req.on("end", () => setTimeout(() => answer(res, body), between(...TURN_MS)));
}).listen(0, "127.0.0.1", function () {
  process.send({ port: this.address().port });
});

let calls = 0;

function between(least, most) {
  return least + Math.random() * (most - least);
}

function answer(res, body) {
  const [, agent_id] = /agent_id is ([\w-]+)/.exec(body);
  const call = {
    id: `call_${++calls}`,
    type: "function",
    function: {
      name: "append_payload",
      arguments: JSON.stringify({ agent_id, payload: `turn ${calls}\n` }),
    },
  };
  res.writeHead(200, { "content-type": "application/json" });
  res.end(
    JSON.stringify({
      id: `chat_${calls}`,
      object: "chat.completion",
      created: 0,
      model: "bench",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: { role: "assistant", content: "Working on it.", tool_calls: [call] },
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    }),
  );
}
