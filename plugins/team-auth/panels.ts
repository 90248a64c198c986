import type { Operation, PluginContext } from "propylon";
import { type Panel, type PanelAction, Panels } from "propylon/panels";
import { z } from "zod";
import { PAGES } from "./operations/page-operations.ts";
import { ACCOUNTS, KEYS, TEAMS } from "./operations/team-operations.ts";
import { TOKENS } from "./operations/token-operations.ts";
import { LIBRARIES, MEMBERSHIPS, USERS } from "./operations/user-operations.ts";
import { librariesSchema } from "./tables/fields.ts";

type Table = Extract<NonNullable<Panel["view"]>, { table: unknown }>["table"];
type Route = Table["from"];

/** Who may see what, in a web interface: one page for each list, and what can be done with its rows. */
export function registerPanels(gateway: Pick<PluginContext, "add">): void {
  for (const panel of [users, libraries, memberships, tokens, teams, keys, accounts, audit])
    gateway.add(Panels, panel);
}

/** A page of a list, which is read by an operation. */
function page(id: string, from: Operation, table: Omit<Table, "from" | "rows" | "live">): Panel {
  const title = id[0]!.toUpperCase() + id.slice(1);
  // Of users with a token of their own the route decides what they see.
  const access = from.access === "principal" ? "viewer" : (from.access as Panel["access"]);
  const view = { table: { from: routeOf(from), rows: `/${id}`, live: "audit", ...table } };
  return { id, title, place: "page", access, view };
}

/** What a button asks by an operation. */
function by({ method, path, body, confirm, secret }: Operation): Omit<PanelAction, "label"> {
  return {
    route: routeOf({ method, path }),
    ...(confirm !== undefined && { confirm }),
    ...(body && { body }),
    ...(secret !== undefined && { secret }),
  };
}

function routeOf({ method, path }: Pick<Operation, "method" | "path">): Route {
  return `${method} ${path}` as Route;
}

/** The route that says whom a change hits. */
function hits(of: string): Pick<PanelAction, "about"> {
  return { about: `${routeOf(PAGES.hits)}?of=${of.replace(" ", "+")}` as Route };
}

const ON_ID = { params: { id: "/id" } } as const;

const users = page("users", PAGES.users, {
  columns: [
    { label: "User", value: "/id" },
    { label: "Name", value: "/name" },
    { label: "State", value: "/state", as: "state" },
    { label: "Tokens", value: "/tokens", as: "number" },
    { label: "Libraries", value: "/libraries", as: "list" },
    { label: "Since", value: "/created_at", as: "time" },
  ],
  search: ["/id", "/name"],
  empty: "There is no user yet. Add one.",
  add: [{ label: "Add a user", tone: "primary", ...by(USERS.create), input: USERS.create.input }],
  actions: [
    {
      label: "Switch off",
      name: "Switch off {/id}",
      when: { "/active": [1] },
      ...by(USERS.disable),
      ...hits("user disable"),
      ...ON_ID,
    },
    {
      label: "Switch on",
      name: "Switch on {/id}",
      when: { "/active": [0] },
      ...by(USERS.enable),
      ...hits("user enable"),
      ...ON_ID,
    },
    {
      label: "Remove",
      name: "Remove {/id}",
      tone: "danger",
      ...by(USERS.remove),
      ...hits("user remove"),
      ...ON_ID,
    },
  ],
});

const USER_CHOICES = { from: routeOf(USERS.list), values: "/users", value: "/id" } as const;
const ON_UID = { params: { uid: "/uid" } } as const;

const libraries = page("libraries", PAGES.libraries, {
  columns: [
    { label: "Library", value: "/uid" },
    { label: "Name", value: "/name" },
    { label: "Workspace", value: "/workspace_id" },
    { label: "Owners", value: "/owners", as: "list" },
    { label: "Managers", value: "/managers", as: "list" },
    { label: "Readers", value: "/readers", as: "list" },
  ],
  key: "{/uid}",
  search: ["/uid", "/name"],
  empty: "There is no library yet. Add one.",
  add: [
    {
      label: "Add a library",
      tone: "primary",
      ...by(LIBRARIES.create),
      access: "admin",
      input: LIBRARIES.create.input,
      choices: { owner: USER_CHOICES },
    },
  ],
  actions: [
    {
      label: "Change",
      name: "Change {/uid}",
      ...by(LIBRARIES.change),
      ...hits("library change"),
      ...ON_UID,
      input: LIBRARIES.change.input,
      defaults: { name: "/name", workspace_id: "/workspace_id" },
    },
    {
      label: "Take from workspace",
      name: "Take {/uid} from its workspace",
      when: { "/assigned": [true] },
      ...by(LIBRARIES.take),
      ...hits("library take"),
      ...ON_UID,
    },
    {
      label: "Remove",
      name: "Remove {/uid}",
      tone: "danger",
      ...by(LIBRARIES.remove),
      ...hits("library remove"),
      ...ON_UID,
    },
  ],
});

const memberships = page("memberships", MEMBERSHIPS.list, {
  columns: [
    { label: "Library", value: "/library_uid" },
    { label: "User", value: "/user" },
    { label: "Role", value: "/role" },
  ],
  key: "{/library_uid} {/user} {/role}",
  search: ["/user", "/library_uid", "/role"],
  empty: "Nobody has a role yet.",
  add: [
    {
      label: "Grant a role",
      tone: "primary",
      ...by(MEMBERSHIPS.grant),
      // Users are listed for admins alone; others type one.
      access: "admin",
      ...hits("member grant"),
      input: MEMBERSHIPS.grant.input,
      choices: {
        user: USER_CHOICES,
        library: { from: routeOf(LIBRARIES.list), values: "/libraries", value: "/uid" },
      },
    },
  ],
  actions: [
    {
      label: "Revoke",
      name: "Revoke {/role} of {/user} for {/library_uid}",
      tone: "danger",
      ...by(MEMBERSHIPS.revoke),
      ...hits("member revoke"),
      params: { user: "/user", library: "/library_uid", role: "/role" },
    },
  ],
});

const ACTIVE = { when: { "/active": [1] } } as const;

const tokens = page("tokens", PAGES.tokens, {
  columns: [
    { label: "Token", value: "/shown", as: "code" },
    { label: "Name", value: "/name" },
    { label: "User", value: "/user" },
    { label: "Libraries", value: "/sees", as: "list" },
    { label: "State", value: "/state", as: "state" },
    { label: "Expires", value: "/expires_at", as: "time" },
    { label: "Last used", value: "/last_used_at", as: "time" },
  ],
  search: ["/user", "/name", "/prefix", "/libraries"],
  empty: "There is no token yet. Mint one.",
  add: [
    {
      label: "Mint a token",
      tone: "primary",
      submit: "Mint",
      ...by(TOKENS.create),
      ...hits("token create"),
      secretTitle: "The new token of {/token/user}",
      input: TOKENS.create.input.omit({ kind: true }),
      choices: {
        user: { from: routeOf(PAGES.tokens), values: "/users" },
        libraries: {
          from: routeOf(LIBRARIES.list),
          values: "/libraries",
          value: "/uid",
          with: { scopable: "user" },
        },
      },
    },
  ],
  actions: [
    {
      label: "Libraries",
      name: "Libraries of {/name}",
      when: { "/active": [1], "/kind": ["access"] },
      ...by(TOKENS.scope),
      ...hits("token scope"),
      ...ON_ID,
      input: z.strictObject({ libraries: librariesSchema }),
      defaults: { libraries: "/libraries" },
      choices: { libraries: { from: routeOf(PAGES.scopes), values: "/libraries" } },
    },
    {
      label: "Replace",
      name: "Replace {/name}",
      what: "Replace {/name} of {/user}",
      ...by(TOKENS.replace),
      ...hits("token replace"),
      secretTitle: "The new token {/token/name} of {/token/user}",
      ...ON_ID,
      ...ACTIVE,
    },
    {
      label: "Revoke",
      name: "Revoke {/name}",
      what: "Revoke {/name} of {/user}",
      tone: "danger",
      ...by(TOKENS.revoke),
      ...hits("token revoke"),
      ...ON_ID,
      ...ACTIVE,
    },
  ],
});

const TEAM_SECRET = { secretTitle: "The token of the team {/team/name}" } as const;

const teams = page("teams", PAGES.teams, {
  columns: [
    { label: "Team", value: "/name" },
    { label: "Id", value: "/id", as: "code" },
    { label: "State", value: "/state", as: "state" },
    { label: "Owner", value: "/owner" },
    { label: "Workspaces", value: "/workspaces", as: "list" },
    { label: "Sees", value: "/sees", as: "list" },
  ],
  search: ["/id", "/name", "/owner"],
  empty: "There is no team yet. Add one.",
  add: [
    {
      label: "Add a team",
      tone: "primary",
      ...by(TEAMS.create),
      ...TEAM_SECRET,
      input: TEAMS.create.input,
    },
  ],
  actions: [
    {
      label: "Workspaces",
      name: "Workspaces of {/name}",
      ...by(TEAMS.workspaces),
      ...hits("team workspaces"),
      ...ON_ID,
      input: TEAMS.workspaces.input,
      defaults: { workspace_ids: "/workspaces" },
    },
    {
      label: "Rotate",
      name: "Rotate {/name}",
      ...by(TEAMS.rotate),
      ...hits("team rotate"),
      ...TEAM_SECRET,
      ...ON_ID,
      input: TEAMS.rotate.input,
    },
    {
      label: "Switch off",
      name: "Switch off {/name}",
      tone: "danger",
      when: { "/active": [true] },
      ...by(TEAMS.delete),
      ...hits("team delete"),
      ...ON_ID,
    },
    {
      label: "Switch on",
      name: "Switch on {/name}",
      when: { "/active": [false] },
      ...by(TEAMS.reactivate),
      ...hits("team reactivate"),
      ...ON_ID,
    },
  ],
});

const NOT_RETIRED = ["signing", "verifying"] as const;

const keys = page("keys", KEYS.list, {
  columns: [
    { label: "Key", value: "/kid", as: "code" },
    { label: "Signs with", value: "/alg" },
    { label: "State", value: "/state", as: "state" },
    { label: "Since", value: "/created_at", as: "time" },
    { label: "Retired", value: "/retired_at", as: "time" },
  ],
  key: "{/kid}",
  empty: "There is no key yet. The first team gets one.",
  add: [
    {
      label: "New key",
      tone: "primary",
      ...by(KEYS.create),
      ...hits("key create"),
      input: KEYS.create.input,
    },
  ],
  actions: [
    {
      label: "Reveal",
      name: "Reveal {/kid}",
      when: { "/state": NOT_RETIRED, "/alg": ["HS256"] },
      ...by(KEYS.reveal),
      ...hits("key reveal"),
      secretTitle: "The secret of {/kid}",
      params: { kid: "/kid" },
    },
    {
      label: "Retire",
      name: "Retire {/kid}",
      tone: "danger",
      when: { "/state": NOT_RETIRED },
      ...by(KEYS.retire),
      ...hits("key retire"),
      params: { kid: "/kid" },
    },
  ],
});

const ON_NAME = { params: { name: "/name" } } as const;

const accounts = page("accounts", PAGES.accounts, {
  columns: [
    { label: "Account", value: "/name" },
    { label: "State", value: "/state", as: "state" },
    { label: "Since", value: "/created_at", as: "time" },
  ],
  empty: "There is no service account yet. A console needs one.",
  add: [
    {
      label: "Add an account",
      tone: "primary",
      ...by(ACCOUNTS.create),
      ...hits("account create"),
      input: ACCOUNTS.create.input,
    },
  ],
  actions: [
    {
      label: "Set password",
      name: "Set password of {/name}",
      ...by(ACCOUNTS.change),
      ...hits("account password"),
      ...ON_NAME,
      input: ACCOUNTS.create.input.pick({ password: true }),
    },
    {
      label: "Switch off",
      name: "Switch off {/name}",
      tone: "danger",
      when: { "/active": [true] },
      ...by(ACCOUNTS.disable),
      ...hits("account disable"),
      ...ON_NAME,
    },
    {
      label: "Switch on",
      name: "Switch on {/name}",
      when: { "/active": [false] },
      ...by(ACCOUNTS.enable),
      ...hits("account enable"),
      ...ON_NAME,
    },
  ],
});

const audit = page("audit", PAGES.audit, {
  columns: [
    { label: "Row", value: "/seq" },
    { label: "At", value: "/at", as: "time" },
    { label: "Who", value: "/actor" },
    { label: "Did", value: "/action" },
    { label: "To", value: "/target" },
    { label: "Details", value: "/details" },
  ],
  key: "{/seq}",
  search: ["/actor", "/action", "/target", "/details"],
  empty: "Nothing was changed yet.",
  add: [
    { label: "Check the chain", route: routeOf(PAGES.verdict), mutates: false, done: "{/said}" },
  ],
});
