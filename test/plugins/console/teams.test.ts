import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Fernet } from "propylon/kit";
import { openEngine } from "../../../plugins/sqlite/engine.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { type InstanceView, SECRET_KEY, setupConsole, withIssuer } from "./kit.ts";
import { jtiOf, startIssuer } from "./scripted-issuer.ts";

const row = async (folder: string): Promise<Record<string, unknown>> => {
  const engine = await openEngine(join(folder, "gateway.db.tables"));
  const found = engine.prepare("SELECT * FROM console__instance").get()!;
  engine.close();
  return found;
};

it("T018, T123, T124, T125: a registered instance is a team whose sealed token is kept", async () => {
  const issuer = await startIssuer();
  const { register, folder, lines, metric } = await setupConsole(withIssuer(issuer));
  const { id, ...made } = await register("Kottos");
  expect(made).toMatchObject({
    pallas_team_mnemosyne_status: "provisioned",
    team_reason: null,
    token: "unseen",
  });
  const [post] = issuer.of("POST", "/teams/");
  expect(post).toMatchObject({ body: { id, name: "Kottos" } });
  const { team_jwt: sealed } = await row(folder);
  expect(jtiOf(new Fernet([SECRET_KEY]).open(String(sealed)))).toBe(issuer.teams.get(id)!.jti);
  const told = lines.find(({ msg }) => msg === "pallas_team_provisioned");
  expect(told).toMatchObject({ team: id, correlation: post!.correlation });
  expect(post!.correlation).toMatch(/^[\da-f-]{36}$/);
  expect(await metric("pallas_team_provisioned_total")).toBe(1);
});

it("T051, T172: no file and no log line holds a token, the password or the key", async () => {
  const issuer = await startIssuer();
  const { register, ask, folder, lines } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  await ask("POST", `/pallas/${id}/rotate`);
  const { jwt } = (await ask<{ jwt: string }>("POST", `/pallas/${id}/reveal`)).body;
  const [, payload] = jwt.split(".");
  const secrets = [payload!, "secret-of-the-account", SECRET_KEY];
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  const views = JSON.stringify((await ask("GET", "/pallas")).body);
  for (const secret of secrets)
    for (const text of [...files, JSON.stringify(lines), views]) expect(text).not.toContain(secret);
});

it("T052, T134: a token is shown once, and the log says to whom", async () => {
  const issuer = await startIssuer();
  const { register, ask, instance, lines } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => ask<{ jwt?: string }>("POST", `/pallas/${id}/reveal`)),
  );
  const shown = answers.filter(({ status }) => status === 200);
  expect(shown).toHaveLength(1);
  expect(jtiOf(shown[0]!.body.jwt!)).toBe(issuer.teams.get(id)!.jti);
  expect(shown[0]!.headers.get("cache-control")).toBe("no-store");
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  expect(await instance(id)).toMatchObject({ token: "shown" });
  const audited = lines.filter(
    ({ msg, outcome, action }) =>
      msg === "mutation" && outcome === "ok" && action === "POST /api/v1/pallas/:id/reveal",
  );
  expect(audited).toMatchObject([{ target: { id }, who: expect.any(String) as string }]);
});

it("T140: a rotated token is kept, can be shown once again, and the one before is worth nothing", async () => {
  const issuer = await startIssuer();
  const { register, ask, lines } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  const first = (await ask<{ jwt: string }>("POST", `/pallas/${id}/reveal`)).body.jwt;
  const { body } = await ask<InstanceView>("POST", `/pallas/${id}/rotate`);
  expect(body).toMatchObject({ token: "unseen", pallas_team_mnemosyne_status: "provisioned" });
  const second = (await ask<{ jwt: string }>("POST", `/pallas/${id}/reveal`)).body.jwt;
  const { jti } = issuer.teams.get(id)!;
  expect([jtiOf(first) === jti, jtiOf(second) === jti]).toEqual([false, true]);
  expect(lines.find(({ msg }) => msg === "pallas_team_rotated")).toMatchObject({ team: id });
});

it("T127, T139: deleting an instance deletes its team", async () => {
  const issuer = await startIssuer();
  const { register, ask, lines } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  expect((await ask("DELETE", `/pallas/${id}`)).status).toBe(204);
  expect(issuer.teams.get(id)).toMatchObject({ active: false });
  expect((await ask("GET", `/pallas/${id}`)).status).toBe(404);
  expect((await ask("DELETE", `/pallas/${id}`)).status).toBe(404);
  expect(lines.find(({ msg }) => msg === "pallas_team_deleted")).toMatchObject({ team: id });
});

it("T053, T120, T121, T126: an issuer that is away stops nothing, and the reason can be read", async () => {
  const issuer = await startIssuer();
  issuer.fault = () => "down";
  const { register, ask, instance, lines } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  const failed = {
    pallas_team_mnemosyne_status: "failed",
    team_reason: "The issuer answered with HTTP 503.",
    token: "none",
  };
  expect(await instance(id)).toMatchObject(failed);
  const { body } = await ask<{ id: string }>("POST", "/workspaces", { name: "Work" });
  const attached = await ask("PUT", `/workspaces/${body.id}/teams/${id}`);
  expect(attached).toMatchObject({ status: 200, body: { teams: [id], in_force: false } });
  expect(lines.filter(({ msg }) => msg === "team hook failed")).toMatchObject([
    { hook: "on_registered", team: id },
    { hook: "on_attached", team: id },
  ]);
  expect((await ask("DELETE", `/pallas/${id}`)).status).toBe(204);
});

it("T054, T122, T131, T132: the reconciler makes up for what failed, and for what others changed", async () => {
  const issuer = await startIssuer();
  issuer.fault = ({ method }) => (method === "GET" ? undefined : "down");
  const { register, ask, instance, metric } = await setupConsole(
    withIssuer(issuer, { interval: "50ms" }),
  );
  const { id } = await register("Kottos");
  const { id: workspace } = (await ask<{ id: string }>("POST", "/workspaces", { name: "Work" }))
    .body;
  await ask("PUT", `/workspaces/${workspace}/teams/${id}`);
  await until(async () => (await metric("team_reconcile_failures_total")) > 0);
  issuer.fault = () => undefined;
  await until(async () => (await instance(id)).pallas_team_mnemosyne_status === "provisioned");
  const team = await until(() => issuer.teams.get(id));
  await until(() => team.workspaces.length === 1);
  expect(team.workspaces).toEqual([workspace]);
  team.workspaces = ["ws_of_nobody"];
  await until(() => team.workspaces[0] === workspace);
  expect(await metric("team_reconcile_cycles_total")).toBeGreaterThan(1);
  await until(async () => (await metric("team_reconcile_repairs_total")) > 1);
  expect(await metric("team_reconcile_failures_total")).toBeGreaterThan(0);
});

it("T131: a lost answer is made up for by a rotation before anybody can have the token, never after", async () => {
  const issuer = await startIssuer();
  issuer.fault = ({ path }) => (path.endsWith("/teams/") ? "error" : undefined);
  const { register, ask, instance } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  expect(await instance(id)).toMatchObject({ pallas_team_mnemosyne_status: "failed" });
  issuer.fault = () => undefined;
  const provisioned = await ask<InstanceView>("POST", `/pallas/${id}/provision`);
  expect(provisioned.body).toMatchObject({
    pallas_team_mnemosyne_status: "provisioned",
    token: "unseen",
  });
  expect(issuer.rotated).toEqual([id]);
  await ask("POST", `/pallas/${id}/reveal`);
  issuer.fault = ({ path }) => (path.endsWith("/rotate/") ? "error" : undefined);
  expect((await ask("POST", `/pallas/${id}/rotate`)).status).toBe(502);
  issuer.fault = () => undefined;
  const again = await ask<InstanceView>("POST", `/pallas/${id}/provision`);
  expect(again.body).toMatchObject({
    pallas_team_mnemosyne_status: "failed",
    team_reason: expect.stringContaining("rotate by hand") as string,
  });
  expect(issuer.rotated).toHaveLength(2);
  const rotated = await ask<InstanceView>("POST", `/pallas/${id}/rotate`);
  expect(rotated.body).toMatchObject({ pallas_team_mnemosyne_status: "provisioned" });
});

it("a rotation that never got to the issuer leaves the token as it was", async () => {
  const issuer = await startIssuer();
  const { register, ask, instance } = await setupConsole(withIssuer(issuer));
  const { id } = await register("Kottos");
  issuer.fault = () => "cut";
  expect((await ask("POST", `/pallas/${id}/rotate`)).status).toBe(502);
  expect(await instance(id)).toMatchObject({ pallas_team_mnemosyne_status: "failed" });
  issuer.fault = () => undefined;
  await ask("POST", `/pallas/${id}/provision`);
  expect(await instance(id)).toMatchObject({ pallas_team_mnemosyne_status: "provisioned" });
  expect(issuer.rotated).toEqual([]);
});

it("an issuer that never answers is given up in time", async () => {
  const issuer = await startIssuer();
  issuer.fault = () => "silent";
  const options = withIssuer(issuer);
  const limited = { ...options, issuer: { ...(options["issuer"] as object), timeout: "50ms" } };
  const { register } = await setupConsole(limited);
  expect(await register("Kottos")).toMatchObject({
    pallas_team_mnemosyne_status: "failed",
    team_reason: "The issuer did not answer within 0.05 s.",
  });
});

it("T178: what a console of another account has is neither seen nor changed", async () => {
  const [work, personal] = [await startIssuer(), await startIssuer()];
  personal.account = "another:account-of-somebody-else";
  const first = await setupConsole(withIssuer(work));
  const second = await setupConsole(withIssuer(personal));
  const { id } = await first.register("Kottos");
  expect((await second.ask("GET", `/pallas/${id}`)).status).toBe(404);
  expect((await second.ask("POST", `/pallas/${id}/rotate`)).status).toBe(404);
  expect((await second.ask("DELETE", `/pallas/${id}`)).status).toBe(404);
  expect([work.teams.size, personal.teams.size, personal.received.length]).toEqual([1, 0, 0]);
});

it("T154, T156: instances of before there was an issuer work, and become teams once there is one", async () => {
  const folder = makeFolder();
  const before = await setupConsole({ allowedAddresses: ["127.0.0.1"] }, { folder });
  const { id, ...made } = await before.register("Kottos");
  expect(made).toMatchObject({ pallas_team_mnemosyne_status: null, token: "none" });
  expect((await before.ask("POST", `/pallas/${id}/rotate`)).status).toBe(422);
  await before.close();
  const issuer = await startIssuer();
  const after = await setupConsole(withIssuer(issuer), { folder });
  await until(async () => (await after.instance(id)).token === "unseen");
  expect(issuer.teams.get(id)).toMatchObject({ name: "Kottos", active: true });
});

it("a key that is gone is told, and the token is not counted as shown", async () => {
  const folder = makeFolder();
  const issuer = await startIssuer();
  const before = await setupConsole(withIssuer(issuer), { folder });
  const { id } = await before.register("Kottos");
  await before.close();
  const other = { secretKeys: ["another key of at least 32 characters"] };
  const during = await setupConsole(withIssuer(issuer, other), { folder });
  expect((await during.ask("POST", `/pallas/${id}/reveal`)).status).toBe(422);
  await during.close();
  const after = await setupConsole(
    withIssuer(issuer, { secretKeys: [...other.secretKeys, SECRET_KEY] }),
    { folder },
  );
  expect((await after.ask("POST", `/pallas/${id}/reveal`)).status).toBe(200);
});
