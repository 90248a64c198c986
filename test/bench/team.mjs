/** Tokens of teams, as the plugin team-auth issues them. */
import { createHash } from "node:crypto";

export const SECRET_KEY = "a key of the benchmark, long enough";
const ADMIN = { actor: "bench" };
const TEAM = "a3f10000-0000-4000-8000-00000000000a";

export const configOf = (store) => ({
  store,
  plugins: { "team-auth": { secretKeys: [SECRET_KEY] } },
  listeners: { main: { port: 0 } },
});

export const digest = (text) => createHash("sha256").update(text).digest("hex");

/** Fills the tables: a team and a token, which come back, or what `fill` puts in. */
export async function seed(store, fill) {
  const { withIssuer } = await import("../fixtures/issuer.mjs");
  const { createGateway } = await import("propylon");
  const resolvePlugin = async (name) => (await import(`propylon/plugins/${name}`)).default;
  const config = { ...configOf(store), log: { level: "error" } };
  const { gateway, issuer } = await withIssuer(() => createGateway(config, { resolvePlugin }));
  try {
    return fill ? await fill(issuer.directory.db) : await createFirst(issuer.directory);
  } finally {
    await gateway.close();
  }
}

async function createFirst({ users, libraries, teams, tokens }) {
  await users.create(ADMIN, { id: "ada" });
  await libraries.create(ADMIN, { uid: "lib-a", workspaceId: "ws-0", owner: "ada" });
  const { value: team } = await teams.create(ADMIN, { id: TEAM, name: "Kottos" });
  await teams.setWorkspaces(ADMIN, TEAM, ["ws-0"]);
  const { value: token } = await tokens.create(ADMIN, {
    user: "ada",
    name: "laptop",
    libraries: ["lib-a"],
  });
  return { jwt: team.jwt, opaque: token.secret };
}
