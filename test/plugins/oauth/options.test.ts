import { expect, it } from "vitest";
import { optionsSchema } from "../../../plugins/oauth/options.ts";

const PROVIDER = { issuer: "https://login.example", clientId: "gateway" };
const CLIENT = { name: "Desk", redirects: ["https://app.example/callback"] };

interface Written {
  readonly provider?: object;
  readonly client?: object;
  readonly [option: string]: unknown;
}

function check({ provider = {}, client, ...rest }: Written) {
  return optionsSchema.safeParse({
    provider: { ...PROVIDER, ...provider },
    roles: { caller: "everyone" },
    ...(client && { clients: { desk: { ...CLIENT, ...client } } }),
    ...rest,
  });
}

const isTaken = (written: Written): boolean => check(written).success;
const text = (length: number): string => "x".repeat(length);

it.each<[string, boolean]>([
  ["https://login.example", true],
  ["https://login.example/realms/one", true],
  ["http://127.0.0.1:8080", true],
  ["http://localhost", true],
  ["http://login.example", false],
  ["https://user@login.example", false],
  ["https://login.example?tenant=1", false],
  ["https://login.example#part", false],
  ["ftp://login.example", false],
])("%s as the issuer of the login provider: %s", (issuer, expected) => {
  expect(isTaken({ provider: { issuer } })).toBe(expected);
});

it.each<[string, (length: number) => Written, number, number]>([
  ["an id at the provider", (length) => ({ provider: { clientId: text(length) } }), 1, 1_000],
  ["a secret there", (length) => ({ provider: { clientSecret: text(length) } }), 1, 1_000],
  ["a claim of the subject", (length) => ({ provider: { subject: text(length) } }), 1, 100],
  ["a name of a program", (length) => ({ client: { name: text(length) } }), 1, 100],
  ["a secret of a program", (length) => ({ client: { secret: text(length) } }), 16, 1_000],
  [
    "redirects of a program",
    (length) => ({ client: { redirects: Array.from({ length }, () => CLIENT.redirects[0]) } }),
    1,
    1_000,
  ],
  ["a claim of a role", (length) => ({ roles: { caller: { [text(length)]: ["a"] } } }), 1, 100],
  ["a value of a claim", (length) => ({ roles: { caller: { groups: [text(length)] } } }), 0, 200],
  [
    "values of a claim",
    (length) => ({ roles: { caller: { groups: Array.from({ length }, () => "a") } } }),
    1,
    1_000,
  ],
  ["programs in all", (maxClients) => ({ registration: { maxClients } }), 1, 100_000],
  ["programs of an address", (perAddress) => ({ registration: { perAddress } }), 1, 10_000],
])("%s: from its least to its most, and no other", (_, written, least, most) => {
  // What has 1,000 here has no bound.
  const lengths = [least - 1, least, most, ...(most === 1_000 ? [] : [most + 1])];
  const around = lengths.filter((length) => length >= 0);
  expect(around.map((length) => isTaken(written(length)))).toEqual(
    around.map((length) => length >= least && length <= most),
  );
});

it("without further options: five seconds for the provider, no userinfo, registrations and documents", () => {
  expect(check({}).data).toMatchObject({
    provider: { timeout: 5_000, userinfo: false, subject: "sub" },
    registration: { enabled: true, maxClients: 10_000, perAddress: 60 },
    documents: true,
    accessToken: 3_600_000,
    login: 30 * 86_400_000,
    reuseGrace: 10_000,
    signing: { algorithm: "EdDSA", rotation: 30 * 86_400_000 },
  });
});
