import type { CommandDefinition, CommandFlag, CommandInput } from "propylon";
import { SEND_KEY_FLAG } from "propylon/cli";
import type { FixtureFlags, McpFlags, RuntimeFlags } from "./run.ts";

const REPORTING: readonly CommandFlag[] = [
  SEND_KEY_FLAG,
  { flag: "--timeout <duration>", description: "longest wait for an answer", default: "60s" },
  { flag: "--json <file>", description: "write the report as JSON; - is standard output" },
  { flag: "--junit <file>", description: "write the report as JUnit XML; - is standard output" },
];

const RUNTIME: CommandDefinition = {
  description: "Check a runtime of contract v1: at a URL, or started with the command behind --.",
  arguments: "[url]",
  flags: [
    ...REPORTING,
    {
      flag: "--level <level>",
      description: "highest level to check",
      choices: ["1", "2", "3"],
      default: "1",
    },
    {
      flag: "--startup-timeout <duration>",
      description: "longest wait for /health",
      default: "60s",
    },
    {
      flag: "--grace <duration>",
      description: "TERMINATION_GRACE_PERIOD of the command",
      default: "30s",
    },
    {
      flag: "--env <variable>",
      description:
        "NAME or NAME=value for the command; repeatable. It gets no other variable of this process",
      repeatable: true,
      read: "variable",
    },
    { flag: "--message <text>", description: "something that any task can answer" },
    {
      flag: "--failing <text>",
      description: "something that makes a task fail (default: a message of no parts)",
    },
    { flag: "--slow <text>", description: "something that takes at least four seconds" },
    { flag: "--remember <text>", description: "something that tells {word}, to be remembered" },
    { flag: "--recall <text>", description: "something that asks for the word" },
    {
      flag: "--rounds <count>",
      description: "most messages until a context is compacted",
      default: "20",
    },
    { flag: "--characters <count>", description: "length of each of them", default: "4000" },
  ],
  async run({ arguments: [url], flags, rest }: CommandInput<RuntimeFlags>) {
    const { conformanceRuntime } = await import("./run.ts");
    return conformanceRuntime(url, flags, rest);
  },
};

const MCP: CommandDefinition = {
  description: "Check an MCP endpoint with clients of both eras, best with the fixture behind it.",
  arguments: "<url>",
  flags: [
    ...REPORTING,
    {
      flag: "--era <era>",
      description: "only clients of one era",
      choices: ["legacy", "modern", "both"],
      default: "both",
    },
  ],
  async run({ arguments: [url], flags }: CommandInput<McpFlags>) {
    const { conformanceMcp } = await import("./run.ts");
    return conformanceMcp(url!, flags);
  },
};

const FIXTURE: CommandDefinition = {
  description: "Run the MCP server that a gateway is checked with: http, or stdio.",
  flags: [
    { flag: "--port <port>", description: "port on 127.0.0.1", read: "port", default: 0 },
    { flag: "--stdio", description: "speak on standard input and output" },
  ],
  async run({ flags }: CommandInput<FixtureFlags>) {
    const { conformanceFixture } = await import("./run.ts");
    await conformanceFixture(flags);
  },
};

/** The checks, and the server that a gateway is checked with. */
export const commands = {
  conformance: {
    description: "Check a runtime or a gateway against what it promises.",
    commands: { runtime: RUNTIME, mcp: MCP, fixture: FIXTURE },
  },
} satisfies Record<string, CommandDefinition>;
