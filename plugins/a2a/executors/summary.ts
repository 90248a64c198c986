import { GatewayError, type Call } from "propylon";
import { timeoutSignal } from "propylon/kit";
import type { AgentsService } from "propylon/plugins/agents";

const WANTED =
  "Summarise this conversation for yourself, so that you can go on with it from the summary alone: what was asked, what was decided and found out, what is open. Facts, names and numbers matter; write no more than a page.";

/** Has an agent's own model summarise a transcript, with one request and without any tool. */
export function summariser(
  agents: AgentsService,
  agent: string,
  { signal, principal }: Pick<Call, "signal" | "principal">,
  time: number,
): (transcript: string) => Promise<string> {
  return async (transcript) => {
    if (agents.get(agent)?.model === undefined)
      throw new GatewayError("invalid", "The agent has no model of its own.");
    let isOver = false;
    const { text, end } = await agents.run(
      agent,
      [{ role: "user", parts: [{ type: "text", text: `${WANTED}\n\n${transcript}` }] }],
      {
        signal: AbortSignal.any([signal, timeoutSignal(time)]),
        principal,
        mayContinue: () => !isOver,
        // A model that reaches for a tool all the same gets none, and no further turn.
        onEvent: ({ type, ...event }) => {
          if (type === "step" && "kind" in event && event.kind === "tool") isOver = true;
        },
      },
    );
    signal.throwIfAborted();
    if (end !== "finished") throw new GatewayError("upstream_error", "There is no summary.");
    return text;
  };
}
