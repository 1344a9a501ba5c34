// Builds dist/report.html: one file, with script and style inside, and a place for the reports.

import { defineConfig, type Plugin } from "vite";

/** Puts what the page would load into the page. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = Object.values(bundle).find((each) => each.fileName.endsWith(".html"));
      if (page === undefined || page.type !== "asset") throw new Error("there is no page");
      let html = String(page.source);
      for (const each of Object.values(bundle)) {
        if (each === page) continue;
        const name = each.fileName.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        if (each.type === "chunk") {
          const code = each.code.trim().replace(/<\/script/gi, "<\\/script");
          html = html.replace(new RegExp(`<script[^>]*src="[^"]*${name}"[^>]*></script>\n?`), "");
          html = html.replace("</body>", () => `<script type="module">${code}</script>\n</body>`);
        } else {
          const style = String(each.source).trim();
          html = html.replace(
            new RegExp(`<link[^>]*href="[^"]*${name}"[^>]*>`),
            () => `<style>${style}</style>`,
          );
        }
        delete bundle[each.fileName];
      }
      if (/<(script|link)[^>]*(src|href)="(?!data:)/.test(html)) throw new Error("the page loads something");
      // C++ reads it as a raw string literal, which ends where these stand.
      if (html.includes(')syndrome-page"')) throw new Error("the page ends its own literal");
      page.source = html;
      page.fileName = "report.html";
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [oneFile()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    emptyOutDir: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
});
