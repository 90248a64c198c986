import { definePlugin, optional } from "propylon";
import { Files, Filters } from "propylon/kit";
import { Gating } from "propylon/plugins/gating";
import { RateLimits } from "propylon/plugins/ratelimit";
import { McpServers } from "propylon/plugins/servers";
import { commands } from "./commands.ts";
import { may, refuseCalls, viewOf } from "./decide.ts";
import { Ladder } from "./ladder.ts";
import { optionsSchema, type RulesInput } from "./options.ts";
import { warnOfPlainNames } from "./plain-names.ts";
import { publishKeys } from "./key-routes.ts";
import { registerRoutes } from "./routes.ts";
import { Rule } from "./rule.ts";
import { selectorsOf } from "./selectors.ts";
import { Access, Accounts } from "./service.ts";

export * from "./service.ts";

declare module "propylon" {
  interface ConfigSections {
    /** Rules of who may call what: the option `rules` of the plugin. */
    access?: RulesInput;
  }
}

/** Rules of who may call what, behind every list and every call, and why a call is refused. */
export default definePlugin({
  name: "access",
  config: optionsSchema,
  section: { key: "access", option: "rules" },
  needs: (options) => ({ selectors: selectorsOf(options) }),
  commands,
  inject: {
    files: Files,
    accounts: optional(Accounts),
    gating: optional(Gating),
    limits: optional(RateLimits),
    keys: optional(McpServers),
  },
  provides: Access,
  setup(gateway) {
    const { files, keys } = gateway.services;
    const rules = gateway.config.rules.map((options, index) => new Rule(options, index, files));
    if (rules.length > 0) {
      gateway.add(Filters, {
        shows: (item, principal) => may(rules, principal, item).allowed,
        viewOf: (principal) => viewOf(rules, principal),
        hides: "lists",
      });
      gateway.use("gate", refuseCalls(rules));
    }
    warnOfPlainNames(gateway);
    registerRoutes(gateway, new Ladder(gateway, rules));
    if (keys) publishKeys(gateway, keys);
    return { may: (principal, item) => may(rules, principal, item) };
  },
});
