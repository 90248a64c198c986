/** How the pages look; `system` is what the visitor set for all programs. */
export const THEMES = ["system", "light", "dark", "contrast"] as const;

/** One of {@link THEMES}. */
export type Theme = (typeof THEMES)[number];

const KEY = "propylon-theme";

/** The theme that the visitor chose. */
export function chosenTheme(): Theme {
  const stored = readStored();
  return THEMES.find((theme) => theme === stored) ?? "system";
}

/** Keeps a choice in this browser, and shows it. */
export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The browser stores nothing; the choice holds until the page is left.
  }
  document.documentElement.dataset["theme"] = theme;
}

/** Shows what was chosen before. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = chosenTheme();
}

/** Whether the page is dark now, for panels that draw on their own. */
export function isDark(): boolean {
  const theme = document.documentElement.dataset["theme"];
  return (
    theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches)
  );
}

function readStored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
