import { describe, expect, test } from "bun:test"
import { attributes, type Hole, html, render, stylesheetTag } from "../../core/pages/Html.ts"

describe("html", () => {
  test("escapes what is interpolated between tags and inside quotes", () => {
    const hostile = `<script>"'&\``
    expect(render(html`<p title="${hostile}">${hostile}</p>`)).toBe(
      `<p title="&lt;script&gt;&quot;&#39;&amp;&#96;">&lt;script&gt;&quot;&#39;&amp;&#96;</p>`
    )
  })

  test("keeps what is HTML already, joins lists, and leaves nothing for undefined and false", () => {
    const items: ReadonlyArray<Hole> = ["a<b", html`<i>c</i>`, undefined, false, 4]
    expect(render(html`<p>${items}${[[], ["x"]]}</p>`)).toBe("<p>a&lt;b<i>c</i>4x</p>")
  })

  test("an HTML text that did not come from a template is text", () => {
    const rendered = render(html`<b>x</b>`)
    expect(render(html`${rendered}`)).toBe("&lt;b&gt;x&lt;/b&gt;")
  })

  test("a link leads to the web, to a path of ours or to an application, and nowhere else", () => {
    const link = (to: string): string => render(html`<a href="${to}">x</a>`)
    const kept = [
      "/settings",
      "https://a.example/?b=1#c",
      "http://127.0.0.1:8/cb",
      "com.example.app:/cb",
      "cursor://anysphere.cursor-mcp/oauth/callback?code=x",
      "#top",
      ""
    ]
    for (const to of kept) expect(link(to)).toBe(`<a href="${to}">x</a>`)
    const refused = [
      "javascript:alert(1)",
      "JavaScript:alert(1)",
      " javascript:alert(1)",
      "java\nscript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "blob:https://a.example/1",
      "file:///etc/passwd",
      "vscode://file/etc/passwd",
      "cursor://anysphere.cursor-deeplink/mcp/install?code=auth",
      "//evil.example",
      "/\\evil.example",
      "/\t/evil.example",
      "settings"
    ]
    for (const to of refused) expect(link(to)).toBe(`<a href="#">x</a>`)
  })

  test("a picture comes with the page, from this server, or from one address", () => {
    const picture = (src: string): string => render(html`<img src="${src}" alt="">`)
    expect(picture("data:image/png;base64,AAAA")).toContain(`src="data:image/png;base64,AAAA"`)
    expect(picture("/logo.svg")).toContain(`src="/logo.svg"`)
    expect(picture("https://cdn.example.com/a/logo.svg")).toContain(`src="https://cdn.example.com/a/logo.svg"`)
    const refused = [
      "http://a.example/x.png",
      "//a.example/x.png",
      "https://a.example/x.png?v=1",
      "https://a.example/x;script-src *",
      "https://a.example/x, https://b.example/y",
      "https://ada:b@a.example/x.png",
      "https://a.example",
      "https://a.example//b",
      "https://-a.example/x",
      "data:text/html;base64,AAAA"
    ]
    for (const src of refused) {
      expect(picture(src)).toContain(`src="data:,"`)
    }
  })

  test("attributes() is escaped too, and leaves out what is undefined or false", () => {
    const given = attributes({ value: `"><script>`, id: undefined, required: true, readonly: false, maxlength: 3 })
    expect(render(html`<input${given}>`)).toBe(`<input value="&quot;&gt;&lt;script&gt;" required maxlength="3">`)
  })

  test("a template that interpolates where nothing can be escaped throws, whatever the data is", () => {
    const text = "harmless"
    expect(() => html`<input value=${text}>`).toThrow(TypeError)
    expect(() => html`<input ${text}>`).toThrow(TypeError)
    expect(() => html`<${text}>`).toThrow(TypeError)
    expect(() => html`<p title="${html`<b>x</b>`}">`).toThrow(TypeError)
    expect(() => html`<p>${attributes({ id: "x" })}</p>`).toThrow(TypeError)
    expect(() => html`<script>${text}</script>`).toThrow(TypeError)
    expect(() => html`<STYLE>${text}</STYLE>`).toThrow(TypeError)
    expect(() => html`<!-- ${text} -->`).toThrow(TypeError)
  })

  test("characters that HTML forbids do not reach the page", () => {
    expect(render(html`${"a\0b\u0007c\ud800d\ufffee\n\t"}`)).toBe("a\ufffdb\ufffdc\ufffdd\ufffde\n\t")
  })

  test("a stylesheet cannot end its own element", () => {
    expect(() => stylesheetTag("a{}</style><script>")).toThrow(TypeError)
  })
})
