import type { CommandDefinition, CommandFlag } from "propylon";
import { SEND_KEY_FLAG } from "propylon/cli";

const ASKING: readonly CommandFlag[] = [
  SEND_KEY_FLAG,
  {
    flag: "--timeout <duration>",
    description: "longest wait, e.g. 30s (a bare number is seconds)",
    default: "60s",
  },
  { flag: "--json", description: "print JSON" },
];

/** The commands that talk to a running gateway. */
export const commands = {
  tools: {
    description: "List the tools of a running gateway. The target is a URL or a config.",
    arguments: "[target]",
    flags: ASKING,
    async run({ arguments: [target], flags }) {
      const { tools } = await import("./list-tools.ts");
      return tools({ ...flags, target });
    },
  },
  call: {
    description:
      "Call a tool of a running gateway. Arguments: JSON, or key=value ... Put arguments that begin with - after --.",
    arguments: "<tool> [arguments...]",
    dashes: "arguments",
    flags: [
      ...ASKING,
      { flag: "--target <url|config>", description: "gateway to call" },
      {
        flag: "--answer <answer>",
        description:
          "answer to the next question of the tool: JSON for a form, text for a model, accept, decline or cancel (repeatable)",
        repeatable: true,
      },
    ],
    async run({ arguments: [tool, ...words], flags }) {
      const { call } = await import("./call-command.ts");
      return call({ ...flags, tool: tool!, words });
    },
  },
  "client-config": {
    description:
      "Print what to put into a client to use the gateway: claude-code, claude-desktop, claude-web, chatgpt, cursor, vscode, windsurf, open-webui, n8n, langchain, inspector or generic.",
    arguments: "<client> [target]",
    flags: [
      {
        flag: "--key",
        description: "the gateway wants a key (known when the target is a config)",
      },
      { flag: "--login", description: "people log in (known when the target is a config)" },
      { flag: "--json", description: "print only the JSON" },
    ],
    async run({ arguments: [client, target], flags }) {
      const { clientConfig } = await import("./client-config.ts");
      await clientConfig(client!, target, flags);
    },
  },
} satisfies Record<string, CommandDefinition>;
