import type { CommandDefinition, CommandInput } from "propylon";
import { SEND_KEY_FLAG } from "propylon/cli";
import type { ExplainFlags } from "./explain-command.ts";

const EXPLAIN: CommandDefinition = {
  description:
    "Print what stands between a principal (kind:id) and a tool. Exit code 3 when it may not call it.",
  arguments: "<principal> <server> <tool>",
  dashes: "arguments",
  flags: [
    SEND_KEY_FLAG,
    { flag: "--target <url|config>", description: "gateway to ask" },
    { flag: "--library <uid>", description: "also whether it may read this library" },
    { flag: "--role <roles>", description: "roles that its token says, with commas between them" },
    { flag: "--timeout <duration>", description: "longest wait for an answer", default: "60s" },
    { flag: "--json", description: "print JSON" },
  ],
  async run({ arguments: [principal, server, tool], flags }: CommandInput<ExplainFlags>) {
    const { explain } = await import("./explain-command.ts");
    return explain({ ...flags, principal: principal!, server: server!, tool: tool! });
  },
};

/** Asks a running gateway who may do what. */
export const commands = {
  access: {
    description: "Say why somebody may or may not call a tool of a running gateway.",
    commands: { explain: EXPLAIN },
  },
} satisfies Readonly<Record<string, CommandDefinition>>;
