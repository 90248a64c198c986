import {
  type Answer,
  type PluginContext,
  type Progress,
  type RouteEvent,
  toGatewayError,
} from "propylon";
import { Cancellation, readJson } from "propylon/kit";
import { clientGone, streamAnswer } from "propylon/internal";
import { z } from "zod";
import type { Chat } from "./agents/chat.ts";
import type { TurnCounter } from "./metrics.ts";
import { workspaceOf } from "./workspace-routes.ts";
import type { Workspaces } from "./agents/workspaces.ts";

/** Longest message of a person and of a progress report, in characters. */
const MAX = { message: 100_000, report: 500 } as const;

const turnSchema = z.strictObject({
  agent: z.string().min(1).max(400),
  message: z.string().trim().min(1).max(MAX.message),
});

/** What the routes work with. */
export interface ChatFaces {
  readonly chat: Chat;
  readonly workspaces: Workspaces;
  readonly turns: TurnCounter;
}

/** Messages to agents. What an agent does does not change the gateway. */
export function registerChat(gateway: PluginContext, faces: ChatFaces): void {
  const policy = { access: "caller", mutates: false } as const;
  gateway.route("POST", "/api/v1/workspaces/:id/chat", policy, (event) => talk(event, faces));
}

async function talk(event: RouteEvent, faces: ChatFaces): Promise<Response> {
  const { chat, workspaces, turns } = faces;
  const { id } = await workspaces.get(workspaceOf(event));
  const { agent, message } = await readJson(event, turnSchema);
  event.context.target = { workspace: id, agent };
  const { principal } = event.context;
  const cancellation = new Cancellation();
  try {
    const turn = { agent: await chat.find(id, agent), message, principal, cancellation };
    const leave = chat.enter(principal);
    return streamAnswer(
      () => cancellation.abort(clientGone()),
      (progress) => {
        const told = (report: Progress): void => progress(shorten(report));
        return counted(chat.run({ ...turn, progress: told }), turns).finally(leave);
      },
    );
  } catch (error) {
    turns.inc({ outcome: "refused" });
    throw error;
  }
}

async function counted(running: Promise<Answer>, turns: TurnCounter): Promise<Answer> {
  try {
    const answer = await running;
    turns.inc({ outcome: answer.isError || answer.isRpcError ? "failed" : "answered" });
    return answer;
  } catch (error) {
    const isCancelled = toGatewayError(error).code === "cancelled";
    turns.inc({ outcome: isCancelled ? "cancelled" : "failed" });
    throw error;
  }
}

/** Of what an agent says, what a chat shows. */
function shorten({ progress, total, message }: Progress): Progress {
  return {
    progress,
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message: message.slice(0, MAX.report) }),
  };
}
