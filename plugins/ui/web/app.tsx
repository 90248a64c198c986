import { Suspense, useEffect, type ReactNode } from "react";
import { Route, Switch } from "wouter";
import { AboutProvider, useAbout, type About } from "./about.tsx";
import { LiveProvider, useStreamFor } from "./live.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { NoticesProvider } from "./parts/notices.tsx";
import { Page } from "./parts/page.tsx";
import { Trouble } from "./parts/trouble.tsx";
import { isServed, PLACES, type Place } from "./places.tsx";
import { useAsk } from "./query.ts";
import { Shell } from "./shell.tsx";

/** The whole interface: who the visitor is decides between the sign-in page and the rest. */
export function App(): ReactNode {
  return (
    <LiveProvider>
      <NoticesProvider>
        <Door />
      </NoticesProvider>
    </LiveProvider>
  );
}

function Door(): ReactNode {
  const { data, error, refetch } = useAsk<About>("GET /_meta/ui");
  useStreamFor(data?.principal?.ref);
  useEffect(() => {
    if (data) document.title = data.name;
  }, [data]);
  if (!data)
    return error ? (
      <main className="alone">
        <Trouble error={error} what="The gateway" onRetry={() => void refetch()} />
      </main>
    ) : (
      <main className="alone" aria-busy="true">
        <p className="faint">Asking the gateway …</p>
      </main>
    );
  if (data.principal === null) return <SignInPage about={data} />;
  return (
    <AboutProvider about={data}>
      <Shell>
        <Suspense
          fallback={
            <p className="faint" aria-busy="true">
              Loading …
            </p>
          }
        >
          <Switch>
            {PLACES.map((place) => (
              <Route key={place.path} path={place.path}>
                <Served place={place} />
              </Route>
            ))}
            <Route>
              <Page title="No such page">
                <p>The address leads nowhere. The navigation lists the pages there are.</p>
              </Page>
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </AboutProvider>
  );
}

/** A page whose plugin is not loaded says which one brings it. */
function Served({ place }: { readonly place: Place }): ReactNode {
  const about = useAbout();
  const Content = place.page;
  if (isServed(place, about)) return <Content />;
  return (
    <Page title={place.title}>
      <p>
        This page needs the plugin <code>{place.needs!.plugins.join(" or ")}</code>. Add it to{" "}
        <code>plugins</code> of the config, and reload.
      </p>
    </Page>
  );
}
