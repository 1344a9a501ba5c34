import { render } from "preact";
import { App } from "./app";
import type { Report } from "./model";
import "./style.css";

/** The reports that the page carries: JSON, deflated, in base 64. */
async function reports(): Promise<Report[]> {
  const text = document.getElementById("reports")?.textContent ?? "";
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const root = document.getElementById("app")!;
reports().then(
  (all) => {
    root.replaceChildren();
    render(<App reports={all} />, root);
  },
  (error: unknown) => {
    root.textContent = `This report cannot be shown: ${error}. It needs a browser of 2023 or later.`;
  },
);
