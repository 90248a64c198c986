import type { CommandDefinition, CommandInput } from "propylon";
import { SEND_KEY_FLAG } from "propylon/cli";
import type { ProvisionFlags } from "./provision-teams.ts";

const PROVISION: CommandDefinition = {
  description:
    "Get a token for every instance of a running console that has none, and print each once.",
  flags: [
    {
      flag: "--url <url>",
      description: "the gateway, with a key of role admin",
      read: "url",
      default: "http://127.0.0.1:8080",
    },
    SEND_KEY_FLAG,
    {
      flag: "--timeout <duration>",
      description: "longest wait for each instance",
      read: "duration",
      default: "60s",
    },
    { flag: "--json", description: "print a line of JSON for each instance" },
  ],
  async run({ flags }: CommandInput<ProvisionFlags>) {
    const { provisionTeams } = await import("./provision-teams.ts");
    return provisionTeams(flags);
  },
};

/** What is done with the console from the command line. */
export const commands = {
  console: {
    description: "Work with the console of a running gateway.",
    commands: { "provision-teams": PROVISION },
  },
} satisfies Record<string, CommandDefinition>;
