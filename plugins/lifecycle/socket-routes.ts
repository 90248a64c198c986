import { writeJson } from "propylon/kit";
import type { PluginContext, Socket } from "propylon";
import type { ManagedAgent, News } from "./record/agent.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LifecycleOptions } from "./options.ts";
import { NOT_FOUND, agentStatusOf } from "./run/report.ts";

/** Bytes that may wait for a reader; one that lets more pile up is cut off. */
const MAX_UNSENT = 1024 * 1024;

/** In the range for applications (RFC 6455 section 7.4.2); says what HTTP 404 says. */
const GONE = 4404;

const POLICY = { access: "caller", mutates: false, websocket: true } as const;

/** `/ws/agent/:id`: what an agent does, as it does it. */
export function registerSockets(
  gateway: PluginContext<LifecycleOptions>,
  lifecycle: Lifecycle,
): void {
  gateway.route("GET", "/ws/agent/:id", POLICY, (socket) => {
    const agent = lifecycle.find(socket.params["id"] ?? "", socket.principal);
    if (agent) watch(agent, socket, lifecycle);
    else socket.close(GONE, NOT_FOUND);
  });
}

function watch(agent: ManagedAgent, socket: Socket, lifecycle: Lifecycle): void {
  const send = (message: object): void => {
    if (socket.buffered > MAX_UNSENT) socket.terminate();
    else socket.send(writeJson(message));
  };
  const tell = (news: News): void => {
    if (news.type === "gone") return socket.close(GONE, NOT_FOUND);
    if (news.type !== "state") return send(news);
    send({ type: "state", ...agentStatusOf(agent, lifecycle.dependencies) });
    if (agent.isOver) socket.close(1000, agent.status);
  };
  socket.onClose(agent.watch(tell));
  if (agent.output.bytes > 0) tell({ type: "output", text: agent.output.text });
  tell({ type: "state" });
}
