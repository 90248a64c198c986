import type { Credentials } from "../plugin/authentication.ts";
import { digestOf } from "../kit/digest.ts";
import { isObject } from "../kit/json.ts";
import type { Json } from "../kit/types.ts";

/**
 * What an `Authorization` header carries.
 *
 * @example const { token, basic, digest }: Bearer = bearerOf(credentials)!;
 */
export class Bearer {
  readonly token: string;
  /** Whether it came as the password of Basic (RFC 7617). */
  readonly basic: boolean;
  #digest: string | undefined;

  constructor(token: string, basic: boolean) {
    this.token = token;
    this.basic = basic;
  }

  /** The SHA-256 of the token, which it is looked up by; worked out when it is first asked for. */
  get digest(): string {
    return (this.#digest ??= digestOf(this.token));
  }
}

const BEARER = /^Bearer +(\S+) *$/i;
const BASIC = /^Basic +([\w+/-]+={0,2}) *$/i;

/**
 * Name and password of HTTP Basic (RFC 7617).
 *
 * @example const { name, password }: NamedPassword = readBasic("Basic YTpi")!; // a, b
 */
export interface NamedPassword {
  readonly name: string;
  readonly password: string;
}

/**
 * The name and the password of an `Authorization` header; `undefined` for another scheme, and for text that is not base64 or has no
 * colon. Either may be empty.
 *
 * @example const { name, password } = readBasic(String(headers["authorization"])) ?? {};
 */
export function readBasic(authorization: string): NamedPassword | undefined {
  const [, encoded] = BASIC.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, "base64").toString();
  const colon = pair.indexOf(":");
  if (colon < 0) return undefined;
  return { name: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/**
 * The token of an `Authorization` header: `Bearer`, or `Basic` with the key as password and any user, as mcpo takes it.
 * `undefined` for everything else.
 */
export function readBearer(authorization: string): Bearer | undefined {
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return new Bearer(token, false);
  const pair = readBasic(authorization);
  return pair && new Bearer(pair.password, true);
}

/** Credentials as they came over a connection. A copy of them keeps it. */
export interface Connected {
  readonly [CONNECTION]?: object;
}

/** Where {@link bearerOf} finds the connection of a request. */
export const CONNECTION = Symbol("connection");

/** How long what was read is kept, in milliseconds: no token stays in memory once it was used. */
const KEPT_MS = 50;

/**
 * What was read last of a connection, or of the headers of a request whose connection is not known: a busy client sends the same
 * with each request. Tokens of two connections are never compared.
 */
let readings = new WeakMap<object, Reading>();
let isKept = false;

interface Reading {
  readonly authorization: string;
  readonly bearer: Bearer | undefined;
}

/**
 * What a request brings as its token, read once for all who look at it: `Bearer`, or `Basic` with the key as password and any user.
 * `undefined` for everything else.
 *
 * @example const token = bearerOf(credentials)?.token;
 */
export function bearerOf(
  credentials: Pick<Credentials, "headers"> & Connected,
): Bearer | undefined {
  const { headers, [CONNECTION]: source = headers } = credentials;
  const { authorization } = headers;
  if (typeof authorization !== "string") return undefined;
  const known = readings.get(source);
  if (known?.authorization === authorization) return known.bearer;
  const bearer = readBearer(authorization);
  keep(source, { authorization, bearer });
  return bearer;
}

function keep(source: object, reading: Reading): void {
  readings.set(source, reading);
  if (isKept) return;
  isKept = true;
  setTimeout(forget, KEPT_MS).unref();
}

function forget(): void {
  readings = new WeakMap();
  isKept = false;
}

/**
 * What a JSON Web Token (RFC 7519) says, before anything of it is proven: good for finding who can prove it, and for nothing else.
 * `undefined` for another form of token.
 *
 * @example const issuer = readUnprovenClaims(token)?.["iss"];
 */
export function readUnprovenClaims(token: string): Json | undefined {
  const [, payload = "", ...rest] = token.split(".", 4);
  if (rest.length !== 1) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}
