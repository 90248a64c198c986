import type { ChatMessage } from "propylon/plugins/agents";

/** What an agent is told of its contract, behind its own instructions. */
export function instructionsFor(id: string, hasPayloads: boolean): string {
  return [
    `You work on one contract: the first message of the user. Your agent_id is ${id}.`,
    "When the contract is fulfilled, call the tool agent_complete with your agent_id and a summary of what you did and found.",
    ...(hasPayloads
      ? [
          "A result that is more than a few sentences goes into its payload; a long one can be built piece by piece with append_payload before. Put large work products into files, and their place into the payload.",
        ]
      : []),
    "If you cannot call the tool, end your last message with [CONTRACT COMPLETE]. If the contract cannot be fulfilled, say why and end with [CONTRACT FAILED].",
    "Nobody answers questions: decide for yourself.",
  ].join("\n");
}

/** What an agent is told that stopped working without a word about its contract. */
export const REMINDER: ChatMessage = {
  role: "user",
  parts: [
    {
      type: "text",
      text: "Your contract is still open. If it is fulfilled, call agent_complete now; if it cannot be, say why and write [CONTRACT FAILED]; else go on.",
    },
  ],
};
