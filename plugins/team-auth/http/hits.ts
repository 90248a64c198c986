import type { Json } from "propylon";
import type { PanelNotice } from "propylon/panels";
import type { Directory } from "../directory/directory.ts";
import type { SigningKey } from "../directory/signing-keys.ts";
import type { TeamDetails } from "../directory/teams.ts";
import type { Token } from "../directory/tokens.ts";
import type { Sight } from "./sight.ts";

/** A change before it is made: what the page knows of its row, and what is filled in. */
interface Planned {
  readonly sight: Sight;
  readonly directory: Directory;
  readonly row: Readonly<Record<string, string>>;
  readonly value: Json;
}

type Tell = (planned: Planned) => PanelNotice | Promise<PanelNotice>;

/** What a role allows. */
const MAY: Readonly<Record<string, string>> = {
  owner:
    "may change and remove it, decides who owns, manages and reads it, and may put it into tokens",
  manager: "decides who reads it, and may put it into tokens",
  reader: "keeps it in tokens that have it, and may not put it into others",
};

/** Whom each change of the pages hits. */
export const HITS: Readonly<Record<string, Tell>> = {
  "user disable": (planned) =>
    ofUser(planned, "Every token of this user is refused until the user is switched on again."),
  "user enable": async (planned) => ({
    ...(await ofUser(planned, "These tokens count again.")),
    principals: [],
  }),
  "user remove": (planned) =>
    ofUser(planned, "The user goes for good, with all roles for libraries and all tokens."),

  "library change": async ({ sight, row, value: { workspace_id: next } }) => {
    const workspace = await workspaceOf(sight, row["uid"]);
    if (typeof next !== "string" || next === workspace) return { about: [] };
    // Teams are the admin's to see.
    if (sight.reach) return say("The teams of that workspace see it; those of another lose it.");
    const gain = await sight.teamsOf(next);
    return {
      about: [
        {
          text: workspace === null ? "No team sees it now." : "These teams lose it:",
          names: await sight.teamsOf(workspace),
        },
        {
          text: gain.length === 0 ? "No team of that workspace." : "These teams see it:",
          names: gain,
        },
      ],
    };
  },
  "library take": async ({ sight, row }) =>
    say("No team sees it from now on.", await sight.teamsOf(await workspaceOf(sight, row["uid"]))),
  "library remove": async ({ sight, row: { uid = "" } }) => {
    const holders = (await sight.active())
      .filter(({ libraries }) => libraries.includes(uid))
      .map(({ user, name, prefix }) => `token ${name} of ${user} ${prefix}`);
    const teams = await sight.teamsOf(await workspaceOf(sight, uid));
    const scope = sight.reach ? "; your tokens that have it" : "";
    return say(`The library goes for good, out of every token and team${scope}:`, [
      ...holders,
      ...teams,
    ]);
  },

  "member grant": ({ value: { user, library, role } }) =>
    Object.hasOwn(MAY, String(role))
      ? say(`${textOf(user) || "The user"} ${MAY[role as string]}: ${textOf(library)}`)
      : { about: [] },
  "member revoke": async ({ sight, row: { user = "", library = "" } }) => {
    if (!sight.isOf(user))
      return say(
        `If it is the last role of ${user} there, the tokens of ${user} lose the library.`,
      );
    const roles = (await sight.memberships({ user, library })).filter(
      (one) => one.user === user && one.library_uid === library,
    );
    if (roles.length > 1)
      return say(`${user} keeps another role for it, so no token loses the library.`);
    const names = (await sight.active(user))
      .filter((token) => token.user === user && token.libraries.includes(library))
      .map(({ name, prefix }) => `token ${name} ${prefix}`);
    const loss =
      names.length === 0 ? "no token loses the library." : "these tokens lose the library:";
    return say(`It is the last role of ${user} there: ${loss}`, names, [`user:${user}`]);
  },

  "token create": ({ value: { user, libraries } }) => {
    if (typeof user !== "string") return { about: [] };
    const names = namesOf(libraries);
    const sees = names.length === 0 ? "sees no library." : "sees:";
    return say(`Its holder is ${user}, and ${sees}`, names);
  },
  "token replace": (planned) =>
    ofToken(
      planned,
      "The client that uses it now is refused, and needs the new one, which sees the same:",
    ),
  "token revoke": (planned) => ofToken(planned, "The client that uses it is refused from now on:"),
  "token scope": async ({ sight, row, value }) => {
    const token = await find(sight.tokens(), row);
    return difference("The token", token?.libraries ?? [], namesOf(value["libraries"]));
  },

  "team workspaces": async ({ sight, row, value }) => {
    const team = await find(sight.teams(), row);
    const seenIn = await sight.seen();
    const before = seenIn(team?.workspaces ?? []);
    const after = seenIn([...new Set(namesOf(value["workspace_ids"]))]);
    return difference("The team", before, after, [`team:${row["id"]}`]);
  },
  "team rotate": (planned) =>
    ofTeam(
      planned,
      planned.value["grace"] === undefined
        ? "Refused at once until they have the new token:"
        : "Refused after that time unless they have the new token:",
    ),
  "team delete": (planned) => ofTeam(planned, "Refused until the team is switched on again:"),
  "team reactivate": async (planned) => ({
    ...(await ofTeam(planned, "Let in again with the token they have:")),
    principals: [],
  }),

  "key create": () =>
    say(
      "New tokens are signed with it. Nobody is refused: the keys before it verify until they are retired.",
    ),
  "key reveal": () =>
    say(
      "A program that has it can make tokens of every team. Give it to the console that makes tokens for one turn, and to nobody else. The audit says that you saw it.",
    ),
  "key retire": async ({ sight, directory, row: { kid } }) => {
    const keys = await directory.keys.list();
    const key = keys.find((one) => one.kid === kid);
    const hit = key ? (await sight.teams()).filter((team) => mayBeSignedBy(key, keys, team)) : [];
    const then =
      hit.length === 0
        ? "No team has one."
        : "These teams may have one, and then need to be rotated:";
    return say(
      `Every token that it signed is refused, for good. ${then}`,
      hit.map(({ name }) => `team ${name}`),
      hit.map(({ id }) => `team:${id}`),
    );
  },

  "account create": () => say("A program with it creates, rotates and switches off teams."),
  "account password": () => say("The program is refused until it has the new one."),
  "account disable": (planned) =>
    ofAccount(
      planned,
      "The program is refused until it is switched on again. Its teams go on as they are.",
      [`service:${planned.row["name"]}`],
    ),
  "account enable": (planned) =>
    ofAccount(planned, "The program is let in again, and administers teams."),
};

function say(
  text: string,
  names: readonly string[] = [],
  principals: readonly string[] = [],
): PanelNotice {
  return { about: [{ text, names }], principals };
}

async function ofUser({ sight, row: { id } }: Planned, text: string): Promise<PanelNotice> {
  const tokens = (await sight.active(id)).filter(({ user }) => user === id);
  const names = tokens.map(({ name, prefix }) => `${name} ${prefix}`);
  return say(text, names, [`user:${id}`]);
}

async function ofToken({ sight, row }: Planned, text: string): Promise<PanelNotice> {
  const token: Token | undefined = await find(sight.tokens(), row);
  if (!token) return { about: [] };
  const { name, user, libraries } = token;
  const sees = libraries.join(", ") || "no library";
  return say(text, [`${name} of ${user}: ${sees}`], [`user:${user}`]);
}

async function ofTeam({ sight, row }: Planned, text: string): Promise<PanelNotice> {
  const team = await find(sight.teams(), row);
  return say(text, team ? [`every agent of ${team.name}`] : [], [`team:${row["id"]}`]);
}

async function ofAccount(
  { sight, row: { name } }: Planned,
  text: string,
  principals: readonly string[] = [],
): Promise<PanelNotice> {
  const teams = (await sight.teams()).filter(({ owner }) => owner === name);
  return say(
    text,
    teams.map((team) => `team ${team.name}`),
    principals,
  );
}

/** What somebody loses and gains by a change of the libraries that they see. */
function difference(
  who: string,
  before: readonly string[],
  after: readonly string[],
  principals: readonly string[] = [],
): PanelNotice {
  const [had, has] = [new Set(before), new Set(after)];
  const lost = before.filter((uid) => !has.has(uid)).map((uid) => `loses ${uid}`);
  const won = after.filter((uid) => !had.has(uid)).map((uid) => `sees ${uid}`);
  const text = lost.length + won.length === 0 ? `${who} sees what it saw.` : who;
  return say(text, [...lost, ...won], principals);
}

async function find<T extends { readonly id: string }>(
  rows: Promise<readonly T[]>,
  { id }: Planned["row"],
): Promise<T | undefined> {
  return (await rows).find((row) => row.id === id);
}

async function workspaceOf(sight: Sight, uid: string | undefined): Promise<string | null> {
  const library = (await sight.libraries()).find((one) => one.uid === uid);
  return library?.workspace_id ?? null;
}

/** A list that is filled in; none before. */
function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(textOf) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Whether a team's token can be of a key: it was made or changed while the key signed. */
function mayBeSignedBy(key: SigningKey, keys: readonly SigningKey[], team: TeamDetails): boolean {
  const next = keys.find(({ created_at }) => created_at > key.created_at);
  const isBefore = next === undefined || team.created_at < next.created_at;
  return team.active && isBefore && team.updated_at >= key.created_at;
}
