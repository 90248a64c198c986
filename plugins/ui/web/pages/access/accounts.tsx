import type { ReactNode } from "react";
import { Asked } from "../../form/asked.tsx";
import { Act } from "../../parts/act.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Words } from "../../parts/text.tsx";
import { endedOf, useRows, type Account } from "./directory.ts";
import { DirectoryList } from "./directory-list.tsx";
import { Hits } from "../../parts/hits.tsx";
import { State } from "./users.tsx";

const PASSWORD = { type: "string", format: "password", minLength: 16, maxLength: 1_024 };
const NEW_ACCOUNT = {
  type: "object",
  properties: { name: { type: "string", minLength: 1, maxLength: 128 }, password: PASSWORD },
  required: ["name", "password"],
};
const NEW_PASSWORD = { type: "object", properties: { password: PASSWORD }, required: ["password"] };

/** Programs that administer teams: consoles. */
export function Accounts(): ReactNode {
  return (
    <DirectoryList
      name="accounts"
      keyOf={({ name }) => name}
      none="There is no service account yet. A console needs one."
      actions={
        <Asked
          label="Add an account"
          tone="primary"
          route="POST /_meta/team-auth/accounts"
          input={NEW_ACCOUNT}
          about={() => <Hits>A program with it creates, rotates and switches off teams.</Hits>}
        />
      }
      columns={[
        ["Account", ({ name }) => <Words>{name}</Words>],
        ["State", ({ active }) => <State active={active} />],
        ["Since", ({ created_at }) => <Moment at={created_at} />],
        ["", (account) => <AccountActions account={account} />],
      ]}
    />
  );
}

function AccountActions({ account }: { readonly account: Account }): ReactNode {
  const { name, active } = account;
  const teams = useRows("teams")
    .filter(({ owner }) => owner === name)
    .map((team) => `team ${team.name}`);
  const word = active ? "Switch off" : "Switch on";
  return (
    <>
      <Asked
        label="Set password"
        name={`Set password of ${name}`}
        route="PATCH /_meta/team-auth/accounts/:name"
        params={{ name }}
        input={NEW_PASSWORD}
        done={endedOf(`Set password of ${name}`)}
        about={() => <Hits>The program is refused until it has the new one.</Hits>}
      />
      <Act
        route="PATCH /_meta/team-auth/accounts/:name"
        params={{ name }}
        body={{ active: !active }}
        what={`${word} ${name}`}
        label={`${word} ${name}`}
        tone={active ? "danger" : "quiet"}
        done={endedOf(`${word} ${name}`)}
        confirm={
          active ? (
            <Hits names={teams} principals={[`service:${name}`]}>
              The program is refused until it is switched on again. Its teams go on as they are.
            </Hits>
          ) : (
            <Hits names={teams}>The program is let in again, and administers teams.</Hits>
          )
        }
      >
        {word}
      </Act>
    </>
  );
}
