import type { CommandDefinition, CommandInput } from "propylon";
import { SEND_KEY_FLAG } from "propylon/cli";
import type { ProvisionFlags } from "./registry/provision-teams.ts";
import type { HostFlags } from "./registry/register-host.ts";

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
    const { provisionTeams } = await import("./registry/provision-teams.ts");
    return provisionTeams(flags);
  },
};

const REGISTER: CommandDefinition = {
  description: "Register a host of agents at a running console, and print its id.",
  arguments: "<registry>",
  flags: [
    {
      flag: "--url <url>",
      description: "the gateway, with a key of role operator",
      read: "url",
      default: "http://127.0.0.1:8080",
    },
    SEND_KEY_FLAG,
    { flag: "--name <name>", description: "how the team is called (default: its host)" },
    {
      flag: "--host-key <key>",
      description: "bearer token that the host wants",
      env: "HOST_KEY",
      read: "key",
    },
    {
      flag: "--timeout <duration>",
      description: "longest wait for the answer",
      read: "duration",
      default: "60s",
    },
  ],
  async run({ flags, arguments: [registry = ""] }: CommandInput<Omit<HostFlags, "registry">>) {
    const { registerHost } = await import("./registry/register-host.ts");
    return registerHost({ ...flags, registry });
  },
};

/** What is done with the console from the command line. */
export const commands = {
  console: {
    description: "Work with the console of a running gateway.",
    commands: { "provision-teams": PROVISION, register: REGISTER },
  },
} satisfies Record<string, CommandDefinition>;
