import { expect, it } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { propylon } from "../../core/cli/propylon.ts";
import { setupConsole, withIssuer } from "./kit.ts";
import { jtiOf, startIssuer } from "./scripted-issuer.ts";

const provision = (url: string, ...words: string[]) =>
  propylon(["console", "provision-teams", "--url", url, ...words]);

it("T141, T142: every instance gets its team, its token is printed once, and a second run skips it", async () => {
  const issuer = await startIssuer();
  issuer.fault = () => "down";
  const { url, register, ask } = await setupConsole(withIssuer(issuer));
  const [kottos, mentor] = [await register("Kottos"), await register("Mentor")];
  issuer.fault = ({ team, body }) => ([team, body["id"]].includes(mentor.id) ? "down" : undefined);
  const first = await provision(url);
  expect(first.code).toBe(1);
  const rows = first.stdout.trim().split("\n");
  expect(rows[0]).toMatch(/^instance +outcome +name +token$/);
  const [id, outcome, name, jwt] = rows[1]!.split(/ {2,}/);
  expect([id, outcome, name]).toEqual([kottos.id, "provisioned", "Kottos"]);
  expect(jtiOf(jwt!)).toBe(issuer.teams.get(kottos.id)!.jti);
  expect(rows[2]).toBe(
    `${mentor.id}  failed       Mentor                    The issuer answered with HTTP 503.`,
  );
  issuer.fault = () => undefined;
  const second = await provision(url, "--json");
  expect(second.code).toBe(0);
  const objects = second.stdout
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text) as Record<string, string>);
  expect(objects).toMatchObject([
    { id: kottos.id, outcome: "skipped" },
    { id: mentor.id, outcome: "provisioned", jwt: expect.any(String) as string },
  ]);
  expect(objects[0]).not.toHaveProperty("jwt");
  const before = issuer.received.length;
  const third = await provision(url);
  expect(third.stdout).not.toContain("provisioned");
  expect(third.stdout.match(/skipped/g)).toHaveLength(2);
  expect([third.code, issuer.received.length]).toEqual([0, before]);
  expect((await ask("POST", `/pallas/${kottos.id}/reveal`)).status).toBe(409);
  expect(issuer.rotated).toEqual([]);
});

it("a gateway that is not there, has no console or wants a key is told in a sentence", async () => {
  const away = await provision(`http://127.0.0.1:${await freePort()}`);
  expect([away.code, away.stderr]).toEqual([
    2,
    expect.stringContaining("cannot be used") as string,
  ]);
  const issuer = await startIssuer();
  const { url } = await setupConsole(withIssuer(issuer), {
    config: { auth: { apiKey: "a-key-that-the-command-does-not-send" } },
  });
  const refused = await provision(url);
  expect([refused.code, refused.stdout]).toEqual([3, ""]);
  const other = await provision(issuer.url);
  expect(other.code).toBe(2);
});
