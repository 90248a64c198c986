/** The gateway as a process of its own: what is measured of its loop and its memory is nobody else's. */
import { createGateway } from "../../../dist/core/index.js";
import { usedTime } from "../../fixtures/process/used-time.mjs";

let held = 0;
let last = usedTime();
setInterval(() => {
  const now = usedTime();
  held = Math.max(held, now - last);
  last = now;
}, 10);

let gateway;
/** A machine with other work needs more time than there is by default. */
const { CONNECT_TIMEOUT: connectTimeout } = process.env;
const limits = connectTimeout ? { connectTimeout } : {};

async function open(api) {
  held = 0;
  gateway = await createGateway({
    listeners: { main: { port: 0 } },
    plugins: { rest: {}, mcp: {} },
    log: { level: "fatal" },
    servers: { real: { type: "openapi", ...api, ...limits } },
  });
  await gateway.listen();
  process.send({ kind: "open", url: gateway.endpoints[0].url });
  const began = performance.now();
  const server = gateway.servers.get("real");
  while (["idle", "connecting"].includes(server.status.state))
    await new Promise((resolve) => setTimeout(resolve, 5));
  const { state, reason } = server.status;
  const took = performance.now() - began;
  process.send({ kind: "read", state, reason, took, held, tools: server.catalogue.tools.length });
}

async function close() {
  await gateway.close({ grace: 0 });
  // In KiB, the most of this process so far, the threads that read included.
  process.send({
    kind: "closed",
    peak: process.resourceUsage().maxRSS * 1024,
    rss: process.memoryUsage.rss(),
  });
}

process.on("message", (message) => void (message === "close" ? close() : open(message)));
process.once("disconnect", () => process.exit());
