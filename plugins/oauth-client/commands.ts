import type { CommandDefinition, CommandFlag, CommandInput } from "propylon";
import { type ClientFlags, SEND_KEY_FLAG } from "propylon/cli";

const ASKING: readonly CommandFlag[] = [
  SEND_KEY_FLAG,
  { flag: "--target <url|config>", description: "gateway that logs in" },
  { flag: "--timeout <duration>", description: "longest wait for an answer", default: "60s" },
];

/** Logging in at servers, over the routes of a running gateway. */
export const commands = {
  login: {
    description: "Log the gateway in at a server that wants it.",
    arguments: "<server>",
    flags: ASKING,
    async run({ arguments: [server], flags }: CommandInput<ClientFlags>) {
      const { logIn } = await import("./login-commands.ts");
      return logIn(server!, flags);
    },
  },
  logout: {
    description: "Log the gateway out at a server.",
    arguments: "<server>",
    flags: ASKING,
    async run({ arguments: [server], flags }: CommandInput<ClientFlags>) {
      const { logOut } = await import("./login-commands.ts");
      return logOut(server!, flags);
    },
  },
} satisfies Readonly<Record<string, CommandDefinition>>;
