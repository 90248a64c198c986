import type { UseQueryResult } from "@tanstack/react-query";
import { useRight } from "../../about.tsx";
import { useAsk, useIntervalWithout } from "../../query.ts";
import type { RequestFailure, Route } from "../../request.ts";
import { countOf } from "../../kit/words.ts";

/** Somebody whose tokens see libraries. */
export interface User {
  readonly id: string;
  readonly name: string;
  readonly active: 0 | 1;
  readonly created_at: string;
}

/** What tokens and teams see. */
export interface Library {
  readonly uid: string;
  readonly name: string;
  readonly workspace_id: string | null;
}

/** A role of a user for a library. */
export interface Membership {
  readonly user: string;
  readonly library_uid: string;
  readonly role: "owner" | "manager" | "reader";
}

/** A token without its secret. */
export interface Token {
  readonly id: string;
  readonly user: string;
  /** `access` reads, `admin` administrates for the user. */
  readonly kind: "access" | "admin";
  readonly name: string;
  readonly prefix: string;
  readonly active: 0 | 1;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly replaced_by: string | null;
  /** In order of preference. */
  readonly libraries: readonly string[];
}

/** A deployment of agents. */
export interface Team {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly owner: string | null;
  readonly workspaces: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
}

/** A key that signs the tokens of teams, without its secret. */
export interface Key {
  readonly kid: string;
  readonly alg: string;
  readonly state: "signing" | "verifying" | "retired";
  readonly created_at: string;
  readonly retired_at: string | null;
}

/** A program that administers teams. */
export interface Account {
  readonly name: string;
  readonly active: boolean;
  readonly created_at: string;
}

/** What the gateway has, each by its own route. */
export interface Lists {
  readonly users: readonly User[];
  readonly libraries: readonly Library[];
  readonly memberships: readonly Membership[];
  readonly tokens: readonly Token[];
  readonly teams: readonly Team[];
  readonly keys: readonly Key[];
  readonly accounts: readonly Account[];
}

/** One list of the directory, as the gateway has it. */
export function useList<K extends keyof Lists>(
  name: K,
): UseQueryResult<Pick<Lists, K>, RequestFailure> {
  const route: Route = `GET /_meta/team-auth/${name}`;
  const { isThere, reason } = useRight(route);
  const every = useIntervalWithout("audit");
  const enabled = isThere && reason === undefined;
  return useAsk<Pick<Lists, K>>(
    route,
    {},
    { enabled, live: "audit", ...(every !== undefined && { every }) },
  );
}

/** The rows of a list; none while it is not there. */
export function useRows<K extends keyof Lists>(name: K): Lists[K] | readonly [] {
  return useList(name).data?.[name] ?? [];
}

/** What the gateway says that a change ended, as a sentence behind another one. */
export function endedOf(what: string): (answer: unknown) => string {
  return (answer) => {
    const { ended } = answer as { ended?: { sessions: number; streams: number; calls: number } };
    if (!ended || ended.sessions + ended.streams + ended.calls === 0) return `${what}: done.`;
    const { sessions, streams, calls } = ended;
    return `${what}: done. It ended ${countOf(sessions, "session")}, ${countOf(streams, "stream")} and ${countOf(calls, "call")}.`;
  };
}
