// Light, dark, or as the system has it.

import { useEffect, useState } from "preact/hooks";

type Theme = "auto" | "light" | "dark";

/** The button that changes it, and a number that changes with what is seen: pictures on a canvas are painted anew. */
export function useTheme() {
  const [theme, setTheme] = useState<Theme>("auto");
  const [painted, setPainted] = useState(0);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    setPainted((n) => n + 1);
  }, [theme]);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setPainted((n) => n + 1);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  const next = () => {
    const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    setTheme(dark ? "light" : "dark");
  };
  const button = (
    <button aria-label={`Colours: ${theme}`} title="Light, dark or as the system has it" onClick={next}>
      ◐
    </button>
  );
  return [button, painted] as const;
}
