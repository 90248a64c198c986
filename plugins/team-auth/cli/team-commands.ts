import type { CommandDefinition } from "propylon";
import { asking, at, given, post } from "./asking.ts";

export const TEAM: CommandDefinition = {
  description: "Teams, each with one token that lives ten years.",
  commands: {
    list: asking("List teams.", () => ({ path: "/teams" })),
    show: asking("Show a team.", ([id]) => ({ path: at("/teams", id) }), { arguments: "<id>" }),
    create: asking(
      "Make a team and print its token; it is shown this once.",
      ([id, name]) => post("/teams", { id, name }),
      { arguments: "<id> <name>" },
    ),
    workspaces: asking(
      "Replace the workspaces of a team; none: it sees nothing, and its token stays.",
      ([id, ...workspaces]) => ({
        method: "PUT",
        path: `${at("/teams", id)}/workspaces`,
        body: { workspace_ids: workspaces },
      }),
      { arguments: "<id> [workspaces...]" },
    ),
    rotate: asking(
      "Make a new token and print it; the one before is refused.",
      ([id], { grace }) => post(`${at("/teams", id)}/rotate`, given({ grace })),
      {
        arguments: "<id>",
        flags: [
          {
            flag: "--grace <duration>",
            description: "how long the one before still counts, at most 24h; default: not at all",
            read: "duration",
          },
        ],
      },
    ),
    delete: asking(
      "Switch a team off: its token is refused from now on.",
      ([id]) => ({ method: "DELETE", path: at("/teams", id) }),
      { arguments: "<id>" },
    ),
    reactivate: asking(
      "Switch a team on again, with the token it had.",
      ([id]) => post(`${at("/teams", id)}/reactivate`),
      { arguments: "<id>" },
    ),
  },
};

export const KEY: CommandDefinition = {
  description: "Keys that sign tokens.",
  commands: {
    list: asking("List keys.", () => ({ path: "/keys" })),
    create: asking(
      "Make a key that signs from now on; those before it only verify.",
      (_, { alg }) => post("/keys", given({ alg })),
      {
        flags: [
          {
            flag: "--alg <algorithm>",
            description: "default: that of the config",
            choices: ["HS256", "EdDSA"],
          },
        ],
      },
    ),
    retire: asking(
      "Refuse all tokens that a key signed, for good.",
      ([kid]) => post(`${at("/keys", kid)}/retire`),
      { arguments: "<kid>" },
    ),
    reveal: asking(
      "Print the secret of an HS256 key, for the console that signs per-turn tokens with it.",
      ([kid]) => post(`${at("/keys", kid)}/reveal`),
      { arguments: "<kid>" },
    ),
  },
};
