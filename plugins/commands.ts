import type { BundledCommands } from "propylon/cli";

/** The commands that the plugins in this folder declare. The plugins are not loaded for a list, and one command loads one alone. */
export const COMMANDS: BundledCommands = {
  tools: {
    description: "List the tools of a running gateway. The target is a URL or a config.",
    usage: "[options] [target]",
    load: async () => (await import("./client/commands.ts")).commands.tools,
  },
  call: {
    description:
      "Call a tool of a running gateway. Arguments: JSON, or key=value ... Put arguments that begin with - after --.",
    usage: "[options] <tool> [arguments...]",
    load: async () => (await import("./client/commands.ts")).commands.call,
  },
  "client-config": {
    description:
      "Print what to put into a client to use the gateway: claude-code, claude-desktop, claude-web, chatgpt, cursor, vscode, windsurf, open-webui, n8n, langchain, inspector or generic.",
    usage: "[options] <client> [target]",
    load: async () => (await import("./client/commands.ts")).commands["client-config"],
  },
  key: {
    description: "Make a key with a role: prints it once, and the line for the config.",
    usage: "[options]",
    load: async () => (await import("./keys/commands.ts")).commands.key,
  },
  mcpo: {
    description: "Run as mcpo does: every tool at POST /{server}/{tool}, with mcpo's own flags.",
    usage: "[options]",
    load: async () => (await import("./openapi/commands.ts")).commands.mcpo,
  },
  sidecar: {
    description:
      "Feed a runtime of contract v1 from a durable queue; behind -- its command, to run it as well.",
    usage: "[options]",
    load: async () => (await import("./sidecar/commands.ts")).commands.sidecar,
  },
  import: {
    description: "Print a config made from the files of another program: pallas.",
    usage: "<program> [folder]",
    load: async () => (await import("./agents/commands.ts")).commands.import,
  },
  console: {
    description: "Work with the console of a running gateway.",
    load: async () => (await import("./console/commands.ts")).commands.console,
  },
  calls: {
    description: "List the calls that a running gateway is working on, or end one.",
    usage: "[options]",
    load: async () => (await import("./admin/commands.ts")).commands.calls,
  },
  stderr: {
    description: "Print what the child of a server of a running gateway wrote last.",
    usage: "[options] <server>",
    load: async () => (await import("./admin/commands.ts")).commands.stderr,
  },
  access: {
    description: "Say why somebody may or may not call a tool of a running gateway.",
    load: async () => (await import("./access/commands.ts")).commands.access,
  },
  "team-auth": {
    description: "Administer users, libraries, tokens and teams of a running gateway.",
    load: async () => (await import("./team-auth/commands.ts")).commands["team-auth"],
  },
  login: {
    description: "Log the gateway in at a server that wants it.",
    usage: "[options] <server>",
    load: async () => (await import("./oauth-client/commands.ts")).commands.login,
  },
  logout: {
    description: "Log the gateway out at a server.",
    usage: "[options] <server>",
    load: async () => (await import("./oauth-client/commands.ts")).commands.logout,
  },
  conformance: {
    description: "Check a runtime or a gateway against what it promises.",
    load: async () => (await import("./conformance/commands.ts")).commands.conformance,
  },
};
