import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { useAbout, type About } from "./about.tsx";
import { useLiveState, useNewVersion, useReconnect } from "./live.tsx";
import { Act } from "./parts/act.tsx";
import { Badge } from "./parts/badge.tsx";
import { Dialog } from "./parts/dialog.tsx";
import { useNow } from "./parts/moment.tsx";
import { Words } from "./parts/text.tsx";
import { isServed, PLACES } from "./places.tsx";
import { chooseTheme, chosenTheme, THEMES, type Theme } from "./theme.ts";
import { formatSpan, formatTime } from "./kit/words.ts";

/** Navigation, header and the frame of every page. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const about = useAbout();
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const [isHelp, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  useShortcuts(() => setHelp(true));
  const isFirst = useRef(true);
  useEffect(() => {
    setOpen(false);
    // A screen reader reads the new page, not the link that led there.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    scrollTo(0, 0);
  }, [path]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <nav aria-label="Pages" data-open={isOpen || undefined}>
        <div className="brand row between">
          <Link href="/" className="name" aria-current={path === "/" ? "page" : undefined}>
            <Logo />
            <Words>{about.name}</Words>
          </Link>
          <button
            type="button"
            className="menu quiet"
            data-effect="menu"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
        </div>
        <div className="pages">
          <ul>
            {PLACES.filter((place) => place.key !== undefined && isServed(place, about)).map(
              (place) => (
                <Item key={place.path} to={place.path} path={path}>
                  {place.title}
                </Item>
              ),
            )}
            {about.panels
              .filter(({ place }) => place === "page")
              .map(({ id, title }) => (
                <Item key={id} to={`/panels/${id}`} path={path}>
                  <Words>{title}</Words>
                </Item>
              ))}
          </ul>
          <div className="foot">
            <Visitor about={about} />
            <ThemeChoice />
            <button
              type="button"
              className="quiet"
              data-effect="help"
              onClick={() => setHelp(true)}
            >
              Keyboard <kbd>?</kbd>
            </button>
            {about.version !== null && <span className="faint">Propylon {about.version}</span>}
          </div>
        </div>
      </nav>
      <div className="body">
        <Banner about={about} />
        <main id="main" ref={main} tabIndex={-1}>
          {children}
        </main>
      </div>
      {isHelp && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

function Logo(): ReactNode {
  return (
    <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true" className="logo">
      <path d="M6 12.5 16 6l10 6.5M9 14v9m7-9v9m7-9v9M6 26h20" />
    </svg>
  );
}

function Item(props: {
  readonly to: string;
  readonly path: string;
  readonly children: ReactNode;
}): ReactNode {
  const { to, path } = props;
  const isHere = to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
  return (
    <li>
      <Link href={to} aria-current={isHere ? "page" : undefined}>
        {props.children}
      </Link>
    </li>
  );
}

/** Who is here, and the way out. */
function Visitor({ about }: { readonly about: About }): ReactNode {
  const { principal } = about;
  if (!principal || about.signIn.some(({ kind }) => kind === "open"))
    return <span className="faint">No sign-in: everyone who reaches it</span>;
  const roles = principal.roles.join(", ") || "no role";
  return (
    <div className="visitor">
      <span>
        <Words>{principal.ref}</Words>
      </span>
      <span className="faint">{roles}</span>
      {principal.session && (
        <span className="row">
          <Act route="DELETE /ui/session" what="Sign out" tone="quiet">
            Sign out
          </Act>
          <Act
            route="DELETE /ui/session"
            params={{ all: 1 }}
            what="Sign out everywhere"
            tone="quiet"
            confirm="Every browser that signed in with the same key is signed out."
          >
            Sign out everywhere
          </Act>
        </span>
      )}
    </div>
  );
}

function ThemeChoice(): ReactNode {
  const [theme, setTheme] = useState(chosenTheme);
  const names: Readonly<Record<Theme, string>> = {
    system: "System",
    light: "Light",
    dark: "Dark",
    contrast: "High contrast",
  };
  return (
    <label className="row faint">
      Theme
      <select
        value={theme}
        data-effect="theme"
        onChange={({ target }) => {
          const chosen = target.value as Theme;
          setTheme(chosen);
          chooseTheme(chosen);
        }}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {names[name]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What holds for every page: whether it is live, read-only, open, or old. */
function Banner({ about }: { readonly about: About }): ReactNode {
  const isNew = useNewVersion();
  const isOpen = about.signIn.some(({ kind }) => kind === "open");
  return (
    <header className="banner">
      <Liveness />
      {about.readOnly && (
        <span className="note" id="read-only">
          <strong>Read-only.</strong>{" "}
          <Words>{`${about.readOnly.message} ${about.readOnly.hint}`}</Words>
        </span>
      )}
      {isOpen && (
        <span className="note">
          <strong>Open.</strong> There is no sign-in: everyone who can reach this address has full
          access.
        </span>
      )}
      {isNew && (
        <span className="note">
          The gateway has a new version of these pages.{" "}
          <button type="button" data-effect="reload" onClick={() => location.reload()}>
            Reload
          </button>
        </span>
      )}
    </header>
  );
}

function Liveness(): ReactNode {
  const state = useLiveState();
  const reconnect = useReconnect();
  const now = useNow(state.kind === "reconnecting");
  if (state.kind === "live") return <Badge tone="ok">live</Badge>;
  if (state.kind === "connecting") return <Badge tone="busy">connecting</Badge>;
  const retry = (
    <button type="button" className="quiet" data-route="GET /_meta/events" onClick={reconnect}>
      Connect now
    </button>
  );
  const word =
    state.kind === "polling"
      ? "polling 8 s"
      : `reconnecting (${formatSpan(Math.max(0, Math.ceil((state.at - now) / 1_000) * 1_000))})`;
  return (
    <span className="row">
      <Badge tone="degraded">{word}</Badge>
      <span className="faint">stale since {formatTime(new Date(state.since).toISOString())}</span>
      {retry}
    </span>
  );
}

/** `g` and a letter open a page, `/` searches, `?` helps. Keys typed into a field are the field's. */
function useShortcuts(onHelp: () => void): void {
  const about = useAbout();
  const [, navigate] = useLocation();
  const help = useRef(onHelp);
  useEffect(() => {
    help.current = onHelp;
  });
  useEffect(() => {
    let isGoing = false;
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
        return;
      if (target.closest("input, textarea, select, [contenteditable]")) return;
      if (isGoing) {
        isGoing = false;
        const place = PLACES.find(({ key }) => key === event.key);
        if (place && isServed(place, about)) navigate(place.path);
        return;
      }
      if (event.key === "g") isGoing = true;
      else if (event.key === "?") help.current();
      else if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("input[type=search]");
        if (!field) return;
        event.preventDefault();
        field.focus();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [about, navigate]);
}

function Help({ onClose }: { readonly onClose: () => void }): ReactNode {
  const about = useAbout();
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>search this page</dd>
        {PLACES.filter((place) => place.key !== undefined && isServed(place, about)).map(
          (place) => (
            <div key={place.path} className="contents">
              <dt>
                <kbd>g</kbd> <kbd>{place.key}</kbd>
              </dt>
              <dd>{place.title}</dd>
            </div>
          ),
        )}
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>close a dialog</dd>
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>this list</dd>
      </dl>
    </Dialog>
  );
}
