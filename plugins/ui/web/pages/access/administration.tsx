import type { ReactNode } from "react";
import { Accounts } from "./accounts.tsx";
import { Audit } from "./audit.tsx";
import { Keys } from "./keys.tsx";
import { Libraries } from "./libraries.tsx";
import { Memberships } from "./memberships.tsx";
import { Teams } from "./teams.tsx";
import { Tokens } from "./tokens.tsx";
import { Users } from "./users.tsx";

const VIEWS = {
  users: Users,
  libraries: Libraries,
  memberships: Memberships,
  tokens: Tokens,
  teams: Teams,
  keys: Keys,
  accounts: Accounts,
  audit: Audit,
} as const;

/** Who may see what: one list, and what can be done with each of its rows. */
export default function Administration(props: { readonly view: keyof typeof VIEWS }): ReactNode {
  const View = VIEWS[props.view];
  return <View />;
}
