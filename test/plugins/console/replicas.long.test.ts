import { expect, it } from "vitest";
import postgres from "../../../plugins/postgres/index.ts";
import { freshSchema, startServer } from "../postgres/kit.ts";
import { setupConsole, withIssuer } from "./kit.ts";
import { startIssuer } from "./scripted-issuer.ts";

it("two gateways of one PostgreSQL database are one console: the last list at the issuer is the whole list", async () => {
  const server = await startServer();
  const issuer = await startIssuer();
  const setup = {
    plugins: [[postgres, { schema: freshSchema() }] as const],
    config: { store: server.url },
  };
  const consoles = [
    await setupConsole(withIssuer(issuer), setup),
    await setupConsole(withIssuer(issuer), setup),
  ] as const;
  const [first, second] = consoles;
  const { id } = await first.register("Kottos");
  expect(await second.instance(id)).toMatchObject({ pallas_team_mnemosyne_status: "provisioned" });
  const workspaces = Array.from({ length: 10 }, (_, at) => `ws_${at}`);
  for (const name of workspaces) await first.ask("POST", "/workspaces", { id: name, name });
  const answers = await Promise.all(
    workspaces.map((name, at) => consoles[at % 2]!.ask("PUT", `/workspaces/${name}/teams/${id}`)),
  );
  expect(answers.map(({ status }) => status)).toEqual(workspaces.map(() => 200));
  await Promise.all(consoles.map(({ ask }) => ask("POST", `/pallas/${id}/provision`)));
  expect(new Set(issuer.teams.get(id)!.workspaces)).toEqual(new Set(workspaces));
  expect((await second.ask("DELETE", `/pallas/${id}`)).status).toBe(204);
  expect((await first.ask("GET", "/workspaces/ws_0")).body).toMatchObject({ teams: [] });
  expect(issuer.teams.get(id)).toMatchObject({ active: false });
  expect(issuer.rotated).toEqual([]);
});
