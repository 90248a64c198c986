import { resolve } from "node:path";
import { GatewayError } from "propylon";
import type { NatsAccess } from "./access.ts";

/**
 * How to reach NATS, with options, addresses and environment put together.
 *
 * @example const settings: NatsSettings | undefined = natsOf(config.nats, environment, files.folder);
 */
export interface NatsSettings extends Pick<NatsAccess, "provision" | "replicas"> {
  /** Without credentials. */
  readonly servers: readonly string[];
  /** How we authenticate; at most one of the four ways, a password beside a user. */
  readonly identity: Identity;
  /** Files; `undefined` = TLS only where the server wants it. */
  readonly tls: TlsFiles | undefined;
}

/**
 * How we authenticate: with files of credentials and seed; the others are values.
 *
 * @example const identity: Identity = { user: "gateway", password };
 */
export interface Identity {
  readonly credentials?: string | undefined;
  readonly nkey?: string | undefined;
  readonly token?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
}

/** Absolute paths. @example const files: TlsFiles = { ca: "/etc/nats/ca.pem" }; */
export interface TlsFiles {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const WAYS = ["credentials", "nkey", "token", "user"] as const;
/** `[scheme://][user[:password]@]host[:port]`. */
const SERVER = /^(?:([a-z]+):\/\/)?(?:([^@/]*)@)?([^@/]+)\/?$/i;

/**
 * Fills the options of NATS in from the environment.
 *
 * @param cwd where relative files start from
 * @returns `undefined` when nobody names a server
 * @throws {GatewayError} `invalid` for invalid servers, two identities at once, or half of a pair
 * @example const settings = natsOf({ ...config.nats, url: "nats://127.0.0.1:4222" }, environment, folder);
 */
export function natsOf(
  options: NatsAccess,
  env: Environment,
  cwd: string,
): NatsSettings | undefined {
  const listed = [options.url ?? env["NATS_URL"]?.split(",").map((each) => each.trim()) ?? []];
  const places = listed.flat().flatMap((each) => (each === "" ? [] : [placeOf(each)]));
  if (places.length === 0) return undefined;
  const { ca = env["NATS_CA"], cert = env["NATS_CERT"], key = env["NATS_KEY"] } = options.tls;
  if ((cert === undefined) !== (key === undefined))
    throw wrong("A certificate for NATS and its key go together.", "nats.tls.cert, nats.tls.key");
  const files = { ca: at(cwd, ca), cert: at(cwd, cert), key: at(cwd, key) };
  const wantsTls = places.some(({ isTls }) => isTls) || Object.values(files).some(Boolean);
  return {
    servers: places.map(({ server }) => server),
    provision: options.provision,
    replicas: options.replicas,
    identity: identityOf(options, places.find(({ identity }) => identity)?.identity, env, cwd),
    tls: wantsTls ? files : undefined,
  };
}

/** The config's word counts first, then that of the servers' addresses, then the environment's. */
function identityOf(
  options: NatsAccess,
  inUrl: Identity | undefined,
  env: Environment,
  cwd: string,
): Identity {
  const inEnv = {
    credentials: env["NATS_CREDS"],
    nkey: env["NATS_NKEY"],
    token: env["NATS_TOKEN"],
    user: env["NATS_USER"],
  };
  const said = [options, inUrl, inEnv].find((each) => each && WAYS.some((way) => each[way])) ?? {};
  const { credentials, nkey, token, user }: Identity = said;
  const given = WAYS.filter((way) => said[way]);
  if (given.length > 1)
    throw wrong(
      `There are ${given.length} kinds of credentials for NATS.`,
      given.map(nameOf).join(", "),
    );
  const password = options.password ?? inUrl?.password ?? env["NATS_PASSWORD"];
  if (user && password === undefined)
    throw wrong("A user of NATS needs a password.", "nats.password, NATS_PASSWORD");
  return {
    credentials: at(cwd, credentials || undefined),
    nkey: at(cwd, nkey || undefined),
    token: token || undefined,
    ...(user && { user, password }),
  };
}

/** An address and what stands in it: other clients of NATS take credentials there, and it must not be told with them. */
function placeOf(text: string): {
  readonly server: string;
  readonly isTls: boolean;
  readonly identity: Identity | undefined;
} {
  const [, scheme = "nats", userinfo, server] = SERVER.exec(text) ?? [];
  if (server === undefined || !/^(?:nats|tls)$/i.test(scheme))
    throw wrong("An address of NATS looks like nats://host:4222 or tls://host:4222.", "nats.url");
  const [first, second] = userinfo?.split(/:(.*)/s).map(decoded) ?? [];
  const identity = second === undefined ? { token: first } : { user: first, password: second };
  return {
    server: `${scheme}://${server}`,
    isTls: scheme.toLowerCase() === "tls",
    identity: first ? identity : undefined,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong("The credentials in an address of NATS are not percent-encoded.", "nats.url");
  }
}

/** A way as it is written, in the config and in the environment. @example nameOf("token"); // "nats.token (NATS_TOKEN)" */
export function nameOf(way: (typeof WAYS)[number]): string {
  return `nats.${way} (${way === "credentials" ? "NATS_CREDS" : `NATS_${way.toUpperCase()}`})`;
}

/** How we authenticate, as it is written; `undefined` = we do not. @example const way = wayOf(settings.identity); */
export function wayOf(identity: Identity): string | undefined {
  const way = WAYS.find((each) => identity[each] !== undefined);
  return way && nameOf(way);
}

function at(cwd: string, file: string | undefined): string | undefined {
  return file === undefined ? undefined : resolve(cwd, file);
}

function wrong(message: string, where: string): GatewayError {
  return new GatewayError("invalid", message, { hint: `See ${where}.` });
}
