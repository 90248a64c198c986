import { Panels } from "propylon/panels";
import { expect, it } from "vitest";
import { type RunningIssuer, startIssuer } from "./issuer.ts";

interface Told {
  readonly about: readonly { readonly text: string; readonly names: readonly string[] }[];
}

/** Ada and bob, each with a library, a token that reads and one that administrates. */
async function startTwo(): Promise<
  RunningIssuer & { readonly ada: string; readonly read: string }
> {
  const issuer = await startIssuer();
  const { admin } = issuer;
  const mint = async (body: object): Promise<string> =>
    (await admin("POST", "/tokens", { body })).body.secret as string;
  for (const id of ["ada", "bob"]) {
    await admin("POST", "/users", { body: { id } });
    await admin("POST", "/libraries", { body: { uid: `of-${id}`, owner: id, workspace_id: "ws" } });
    await mint({ user: id, name: `of-${id}`, libraries: [`of-${id}`] });
  }
  await admin("POST", "/teams", {
    body: { id: "a3f10000-0000-4000-8000-00000000000a", name: "Kottos" },
  });
  await admin("PUT", "/teams/a3f10000-0000-4000-8000-00000000000a/workspaces", {
    body: { workspace_ids: ["ws"] },
  });
  const ada = await mint({ user: "ada", name: "console", kind: "admin" });
  return { ...issuer, ada, read: await mint({ user: "ada", name: "reads" }) };
}

it("19: lists of team-auth are panels of it, whose forms are the inputs of its operations", async () => {
  const { gateway } = await startIssuer();
  const panels = gateway.point(Panels).filter(({ plugin }) => plugin === "team-auth");
  expect(panels.map(({ id, access }) => `${id} ${access}`)).toEqual([
    "users admin",
    "libraries viewer",
    "memberships viewer",
    "tokens viewer",
    "teams admin",
    "keys admin",
    "accounts admin",
    "audit operator",
  ]);
  const { view } = panels.find(({ id }) => id === "teams")!;
  // The owner of a team is for programs to say.
  expect(view).toMatchObject({
    table: {
      add: [{ route: "POST /_meta/team-auth/teams", input: { required: ["id", "name"] } }],
    },
  });
  expect(JSON.stringify(view)).not.toContain('"owner":');
});

interface Button {
  readonly label: string;
  readonly tone?: string;
  readonly confirm?: string;
  readonly input?: { readonly properties: Readonly<Record<string, object>> };
  readonly defaults?: object;
}

/** The buttons of a page, in its head and in its rows. */
async function readButtons(): Promise<(id: string) => readonly Button[]> {
  const { gateway } = await startIssuer();
  const panels = gateway.point(Panels).filter(({ plugin }) => plugin === "team-auth");
  return (id) => {
    const { table } = panels.find((panel) => panel.id === id)!.view as unknown as {
      table: { add?: readonly Button[]; actions?: readonly Button[] };
    };
    return [...(table.add ?? []), ...(table.actions ?? [])];
  };
}

it("19: what is dangerous says so by itself, before the gateway says whom it hits", async () => {
  const buttonsOf = await readButtons();
  const asking = ["users", "libraries", "memberships", "tokens", "teams", "keys", "accounts"].map(
    (id) => [
      id,
      buttonsOf(id)
        .filter(({ confirm }) => confirm)
        .map(({ label }) => label),
    ],
  );
  expect(Object.fromEntries(asking)).toEqual({
    users: ["Switch off", "Remove"],
    libraries: ["Remove"],
    memberships: ["Revoke"],
    tokens: ["Replace", "Revoke"],
    teams: ["Switch off"],
    keys: ["Reveal", "Retire"],
    accounts: ["Switch off"],
  });
});

it("19: the libraries of a token begin with those that it has", async () => {
  const buttonsOf = await readButtons();
  expect(buttonsOf("tokens").find(({ label }) => label === "Libraries")).toMatchObject({
    defaults: { libraries: "/libraries" },
  });
});

it("19: a form says what a form has to say, and not what the help of its command does", async () => {
  const buttonsOf = await readButtons();
  const textsOf = (id: string, button: string): unknown => {
    const { properties } = buttonsOf(id).find(({ label }) => label === button)!.input!;
    return Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [
        name,
        (member as { description?: string }).description,
      ]),
    );
  };
  expect(textsOf("tokens", "Mint a token")).toEqual({
    user: undefined,
    name: "What it is for: a laptop, a program.",
    libraries: "Those that the user owns or manages. The first is preferred.",
    expires_at: "As 2030-01-31T00:00:00Z. Without it, it does not expire.",
  });
  expect(textsOf("libraries", "Change")).toEqual({
    name: "For people.",
    workspace_id: "Teams of this workspace see it.",
  });
  expect(textsOf("libraries", "Add a library")).toMatchObject({
    name: "For people. Without it, the uid.",
  });
  for (const id of ["users", "libraries", "memberships", "tokens", "teams", "keys", "accounts"])
    for (const { input } of buttonsOf(id))
      for (const member of Object.values(input?.properties ?? {})) {
        expect(member).not.toHaveProperty("flag");
        expect(member).not.toHaveProperty("form");
      }
});

it("19: what a page reads of a user with a token is that user's part", async () => {
  const { admin, ada, read } = await startTwo();
  const ask = async (path: string, bearer?: string | null) =>
    admin("GET", `/pages/${path}`, bearer === undefined ? {} : { bearer });
  const names = async (path: string, bearer?: string): Promise<unknown> =>
    Object.values((await ask(path, bearer)).body)[0];

  expect(await names("users")).toMatchObject([
    { id: "ada", state: "active", tokens: 3, libraries: ["of-ada (owner)"] },
    { id: "bob", state: "active", tokens: 1 },
  ]);
  expect(await names("libraries")).toMatchObject([
    { uid: "of-ada", owners: ["ada"], readers: [], assigned: true },
    { uid: "of-bob", owners: ["bob"] },
  ]);
  expect(await names("teams")).toMatchObject([{ name: "Kottos", sees: ["of-ada", "of-bob"] }]);
  expect(await names("libraries", ada)).toMatchObject([{ uid: "of-ada" }]);
  const { tokens, users } = (await ask("tokens", ada)).body as {
    tokens: { id: string; name: string; user: string }[];
    users: string[];
  };
  expect(tokens.map(({ user }) => user)).toEqual(["ada", "ada", "ada"]);
  expect(users).toEqual(["ada"]);
  expect(await names("tokens", read)).toMatchObject([{ name: "reads" }]);
  const ofAda = tokens.find(({ name }) => name === "of-ada")!.id;
  expect((await ask(`tokens/${ofAda}/libraries`, ada)).body).toEqual({ libraries: ["of-ada"] });
  const all = (await ask("tokens")).body as { tokens: { id: string; user: string }[] };
  const ofBob = all.tokens.find(({ user }) => user === "bob")!.id;

  const audit = (await names("audit")) as { seq: number }[];
  expect(audit.map(({ seq }) => seq)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect((await ask("audit/verdict")).body).toEqual({ said: "The chain is whole: 10 rows." });
  for (const path of [
    "users",
    "teams",
    "accounts",
    "audit",
    "audit/verdict",
    `tokens/${ofBob}/libraries`,
  ])
    expect([403, 404]).toContain((await ask(path, ada)).status);
  expect((await ask("libraries", read)).status).toBe(403);
  expect((await ask("hits?of=key+create", null)).status).toBe(401);
});

it("19: whom a change hits is told an admin in full, and a user as far as it is theirs", async () => {
  const { admin, ada } = await startTwo();
  const ask = (of: string, query = "", bearer?: string) =>
    admin("GET", `/pages/hits?of=${of}${query}`, bearer === undefined ? {} : { bearer });
  const told = async (...question: Parameters<typeof ask>): Promise<Told> =>
    (await ask(...question)).body as Told;

  expect(await told("user+remove", "&id=bob")).toEqual({
    about: [
      {
        text: "The user goes for good, with all roles for libraries and all tokens.",
        names: [expect.stringMatching(/^of-bob ppt_/)],
      },
    ],
    principals: ["user:bob"],
  });
  expect((await told("library+remove", "&uid=of-bob")).about[0]!.names).toEqual([
    expect.stringMatching(/^token of-bob of bob ppt_/),
    "team Kottos",
  ]);
  const value = encodeURIComponent(JSON.stringify({ workspace_id: "other" }));
  expect((await told("library+change", `&uid=of-bob&value=${value}`)).about).toEqual([
    { text: "These teams lose it:", names: ["team Kottos"] },
    { text: "No team of that workspace.", names: [] },
  ]);
  expect((await told("library+change", `&uid=of-ada&value=${value}`, ada)).about).toMatchObject([
    { text: "The teams of that workspace see it; those of another lose it." },
  ]);
  expect((await told("library+remove", "&uid=of-ada", ada)).about).toMatchObject([
    {
      text: "The library goes for good, out of every token and team; your tokens that have it:",
      names: [expect.stringMatching(/^token of-ada of ada ppt_/)],
    },
  ]);
  await admin("PATCH", "/libraries/of-ada", { body: { workspace_id: "hers" } });
  const same = encodeURIComponent(JSON.stringify({ workspace_id: "ws" }));
  expect(await told("library+change", `&uid=of-bob&value=${same}`)).toEqual({ about: [] });
  // Nothing of others comes to a user, whatever is asked.
  for (const [of, query] of [
    ["user+remove", "&id=bob"],
    ["library+remove", "&uid=of-bob"],
    ["team+delete", "&id=a3f10000-0000-4000-8000-00000000000a"],
    ["account+disable", "&name=console"],
    ["member+revoke", "&user=bob&library=of-bob&role=owner"],
  ] as const)
    for (const { names } of (await told(of, query, ada)).about) expect(names).toEqual([]);

  expect(await told("member+revoke", "&user=bob&library=of-bob&role=owner")).toEqual({
    about: [
      {
        text: "It is the last role of bob there: these tokens lose the library:",
        names: [expect.stringMatching(/^token of-bob ppt_/)],
      },
    ],
    principals: ["user:bob"],
  });
  // Which roles and tokens of others there are it is not told, so that it is not told that there are none either.
  expect(
    (await told("member+revoke", "&user=bob&library=of-ada&role=reader", ada)).about,
  ).toMatchObject([
    { text: "If it is the last role of bob there, the tokens of bob lose the library." },
  ]);

  for (const of of ["nothing", "constructor", "__proto__"])
    expect((await ask(of)).status).toBe(404);
  expect((await ask("team+rotate", "&value=%7B")).status).toBe(400);
  expect((await ask("team+rotate", "&value=7")).status).toBe(200);
  expect((await admin("GET", "/pages/hits")).status).toBe(422);
});
