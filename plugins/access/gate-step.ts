import type { Principal } from "propylon";
import type { AccessQuestion, LadderGateway } from "./question.ts";
import type { AccessStep } from "./service.ts";

type Verdict = Omit<AccessStep, "step">;

/** Whether a tool is there, and switched on. */
export function gateOf(
  gateway: LadderGateway,
  principal: Principal,
  question: AccessQuestion,
): AccessStep {
  return { step: "gate", ...verdictOf(gateway, principal, question) };
}

function verdictOf(
  { info, services: { gating } }: LadderGateway,
  principal: Principal,
  { server, tool, asker }: AccessQuestion,
): Verdict {
  const found = info.servers.get(server);
  if (!found) return fail(`There is no server ${server}.`, "Check its name in servers.");
  const item = { server, kind: "tool", name: tool } as const;
  // What is kept from the caller is not there for them: this answer must not tell what a call does not.
  if (!found.catalogue.tools.some(({ name }) => name === tool) || !info.exists(item, asker))
    return fail(
      `Server ${server} (${found.status.state}) has no tool ${tool}.`,
      "Use the name that the tool has at its own server.",
    );
  if (!info.exists(item, principal))
    return fail(
      "A plugin keeps it from this principal.",
      "Look at plugins.gating.reserved and at plugins of your own.",
    );
  if (gating && !gating.isServerEnabled(server))
    return fail("The server is switched off.", `POST /_meta/servers/${server}/enable.`);
  if (gating && !gating.isToolEnabled(server, tool))
    return fail("The tool is switched off.", `POST /_meta/servers/${server}/tools/${tool}/enable.`);
  if (!info.exposes(server, tool))
    return fail("The config leaves the tool out.", `Change servers.${server}.tools.`);
  return { verdict: "pass", reason: "It is there and switched on." };
}

function fail(reason: string, change: string): Verdict {
  return { verdict: "fail", reason, change };
}
