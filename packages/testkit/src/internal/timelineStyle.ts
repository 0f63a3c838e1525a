/** The style sheet of the HTML file. */
import { dark, light, type Palette, toneNames } from "./palette.ts"

const variables = (palette: Palette): string =>
  [
    ...(["page", "panel", "line", "text", "quiet", "accent", "signal", "fault", "good", "bad"] as const).map(
      (name) => `--${name}:${palette[name]}`
    ),
    ...toneNames.flatMap((name) => {
      const { bar, stripe, text } = palette.tones[name]
      return [`--${name}-bar:${bar}`, `--${name}-stripe:${stripe}`, `--${name}-text:${text}`]
    })
  ].join(";")

/** What tells bars apart beside their colour. */
const stripes: Readonly<Record<string, string>> = {
  starting: "repeating-linear-gradient(135deg,transparent 0 5px,var(--stripe) 5px 10px)",
  stopping: "repeating-linear-gradient(45deg,transparent 0 5px,var(--stripe) 5px 10px)",
  failed:
    "repeating-linear-gradient(45deg,var(--stripe) 0 2px,transparent 2px 8px),repeating-linear-gradient(135deg,var(--stripe) 0 2px,transparent 2px 8px)",
  unresponsive: "repeating-linear-gradient(90deg,transparent 0 4px,var(--stripe) 4px 8px)",
  unreachable: "repeating-linear-gradient(0deg,transparent 0 2px,var(--stripe) 2px 4px)"
}

const tones = toneNames
  .map(
    (name) =>
      `.t-${name}{--bar:var(--${name}-bar);--stripe:var(--${name}-stripe);--ink:var(--${name}-text)${
        stripes[name] === undefined ? "" : `;background-image:${stripes[name]}`
      }}`
  )
  .join("\n")

/** The least width of a bar for its name, by the length of the name; below it one letter is shown, then none. */
const labelWidths = [
  ["w1", 46],
  ["w2", 66],
  ["w3", 100],
  ["w4", 122]
]
const rooms = labelWidths
  .map(
    ([size, width]) => `@container (max-width:${width}px){.label.${size}{display:none}.letter.${size}{display:block}}`
  )
  .join("\n")

export const style = `
:root{color-scheme:light dark;--names:212px;--tail:18px;${variables(light)}}
@media (prefers-color-scheme:dark){:root{${variables(dark)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1860px;margin:0 auto;padding:22px 24px 40px}
h1{font-size:20px;line-height:1.25;margin:0 0 8px;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
p{margin:0}
.facts{display:flex;flex-wrap:wrap;gap:4px 18px;align-items:center;color:var(--quiet)}
.outcome{font-weight:650;padding:1px 10px 2px;border-radius:99px;border:1.5px solid}
.outcome.passed{color:var(--good)}
.outcome.passed::before{content:"✓ "}
.outcome.failed{color:var(--bad)}
.outcome.failed::before{content:"✗ "}
.failure{margin-top:10px;padding:8px 12px;border-left:3px solid var(--bad);background:var(--panel);border-radius:0 6px 6px 0;overflow-wrap:anywhere;unicode-bidi:isolate}
figure{margin:16px 0 14px;background:var(--panel);border:1px solid var(--line);border-radius:10px}
figcaption{padding:10px 16px 12px;color:var(--quiet);border-top:1px solid var(--line);overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:5px 18px;margin:0;padding:11px 16px;list-style:none;font-size:12px;color:var(--quiet);border-bottom:1px solid var(--line)}
.legend li{display:flex;align-items:center;gap:6px;white-space:nowrap}
.swatch{width:26px;height:15px;border-radius:3px;font:600 10px/15px ui-monospace,monospace;text-align:center;color:var(--ink);background-color:var(--bar)}
.sign{position:relative;width:16px;height:14px;--track:7px}
.legend .life{left:0;width:11px}
.legend .mark{left:7px}
${tones}
.chart{position:relative;min-width:780px;padding-bottom:8px}
.axis,.lane{display:grid;grid-template-columns:var(--names) minmax(0,1fr)}
.plot{position:relative;margin-right:var(--tail)}
.axis{position:sticky;top:0;z-index:20;height:calc(var(--rows)*19px + 27px);background:var(--panel);border-bottom:1px solid var(--line)}
.corner{position:sticky;left:0;z-index:2;background:var(--panel);align-self:start;padding:5px 12px 0 16px;font-size:11px;color:var(--quiet)}
.tick{position:absolute;top:5px;transform:translateX(-50%);font-size:11px;white-space:nowrap;color:var(--quiet);font-variant-numeric:tabular-nums}
.tick.first{transform:none}
.tick.last{transform:translateX(-100%)}
.chip{position:absolute;top:calc(var(--row)*19px + 25px);height:16px;padding:0 5px;font:600 11px/16px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;color:var(--c);cursor:default}
.chip::before{content:"";position:absolute;z-index:-1;left:0;top:0;height:calc((var(--rows) - var(--row))*19px + 2px);border-left:1px solid var(--c)}
.c-fault::before{border-left-style:dashed}
.chip>span{display:block;background:var(--panel);overflow:hidden;text-overflow:ellipsis;white-space:nowrap;unicode-bidi:isolate}
.chip.left::before{left:100%}
.chip.bare::before{left:3.5px;top:8px;height:calc((var(--rows) - var(--row))*19px - 10px)}
.chip.bare{width:8px;height:8px;margin:4px 0 0 -3.5px;padding:0;border-radius:99px;background:var(--c)}
.c-signal,.r-signal,.m-signal{--c:var(--signal)}
.c-fault,.r-fault,.m-fault{--c:var(--fault)}
.rules{position:absolute;pointer-events:none;inset:0 var(--tail) 0 var(--names)}
.lines{z-index:2}
.rule{position:absolute;top:0;bottom:0;border-left:1px solid var(--line)}
.r-signal,.r-fault{border-color:var(--c);opacity:.75}
.r-fault{border-left-style:dashed}
.group{padding:5px 0}
.group+.group{border-top:1px solid var(--line)}
.lane{--track:11px;min-height:53px}
.lane.thin{min-height:19px;--track:9px}
.lane.client,.lane.fence{min-height:22px}
.lane:hover{background:color-mix(in srgb,var(--text) 4%,transparent)}
.name{position:sticky;left:0;z-index:3;display:flex;gap:7px;align-items:center;padding:0 12px 0 16px;font-size:12px;line-height:18px;white-space:nowrap;background:var(--panel);overflow:hidden}
.name b{font-weight:600;font-variant-numeric:tabular-nums;overflow:hidden;text-overflow:ellipsis;unicode-bidi:isolate}
.role{color:var(--quiet);overflow:hidden;text-overflow:ellipsis;unicode-bidi:isolate}
.ending{margin-left:auto;padding-left:6px;font-size:11px;color:var(--quiet)}
.ending.ill{color:var(--bad);font-weight:600}
.h{cursor:default;outline-offset:1px}
.h:focus-visible{outline:2px solid var(--accent)}
.h:hover,.h:focus{z-index:40}
.life{position:absolute;top:calc(var(--track) - 1px);height:2px;min-width:2px;background:var(--quiet)}
.life.h::before{content:"";position:absolute;inset:-5px 0}
.life.well::after{content:"";position:absolute;right:-1px;top:-4px;width:2px;height:10px;background:var(--quiet)}
.life.ill::after{content:"";position:absolute;right:-5px;top:-5px;width:11px;height:11px;background:linear-gradient(45deg,transparent 41%,var(--bad) 41% 59%,transparent 59%),linear-gradient(-45deg,transparent 41%,var(--bad) 41% 59%,transparent 59%)}
.bar{position:absolute;z-index:1;min-width:2px;container-type:inline-size;background-color:var(--bar);color:var(--ink);border-radius:3px;font-size:11px;border-right:1px solid var(--panel)}
.bar.status{top:19px;height:16px;line-height:16px}
.bar.held{top:36px;height:13px;font-size:10px;line-height:13px;border-radius:2px}
.client .bar.status,.fence .bar.status{top:3px}
.t-missing,.t-epoch{box-shadow:inset 0 0 0 1px var(--ink)}
.label,.letter{height:100%;padding:0 6px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;unicode-bidi:isolate}
.label{display:block}
.letter{display:none;padding:0;text-align:center;font-weight:600}
${rooms}
@container (max-width:11px){.letter.letter{display:none}}
.mark{position:absolute;z-index:3;top:calc(var(--track) - 6px);height:12px;min-width:12px;margin-left:-6px}
.process .m-signal,.process .m-fault{top:calc(var(--track) - 12px)}
.mark i{position:absolute;inset:0;margin:auto;width:7px;height:7px;background:var(--c,var(--quiet))}
.mark.many i{left:2px;right:2px;width:auto;border-radius:4px}
.m-step i{border:1.5px solid var(--quiet);background:var(--panel);rotate:45deg}
.m-step.many i{rotate:none}
.m-log i{width:2px;height:10px;background:var(--accent)}
.m-log.many i{width:auto;height:7px}
.m-note i{border-radius:99px}
.m-signal i{width:11px;height:10px;background:var(--c);clip-path:polygon(0 0,100% 0,50% 100%)}
.m-fault i{width:11px;height:11px;background:var(--c);clip-path:polygon(50% 0,100% 50%,50% 100%,0 50%)}
.m-signal.many i,.m-fault.many i{left:0;right:auto;width:11px;border-radius:0}
.tip{display:none;position:absolute;top:calc(100% + 6px);width:max-content;max-width:min(620px,40vw);padding:7px 10px;border:1px solid var(--line);border-radius:6px;background:var(--text);color:var(--page);font:12px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;text-align:left;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;box-shadow:0 6px 20px rgb(0 0 0/.25);transform:none}
.h:hover>.tip,.h:focus>.tip{display:block}
.l>.tip{left:0}
.m>.tip{left:50%;transform:translateX(-50%)}
.r>.tip{right:0}
details{background:var(--panel);border:1px solid var(--line);border-radius:10px}
summary{padding:10px 16px;cursor:pointer;font-weight:600}
table{width:100%;border-collapse:collapse;font-size:13px}
th,td{padding:4px 10px;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
th{color:var(--quiet);font-weight:600}
td:nth-child(1){white-space:nowrap;text-align:right;font-variant-numeric:tabular-nums}
td:nth-child(2){min-width:9em;max-width:18em;overflow-wrap:anywhere;unicode-bidi:isolate}
td:nth-child(3){color:var(--quiet)}
td:nth-child(4){white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
.k-signal td:nth-child(3){color:var(--signal)}
.k-fault td:nth-child(3){color:var(--fault)}
.k-log td:nth-child(4){font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media (max-width:859px){main{padding:14px 10px}.scroll{overflow-x:auto}.axis{position:relative}}
@media print{
:root{${variables(light)}}
@page{size:landscape;margin:10mm}
body{background:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}
main{padding:0}.axis,.name,.corner{position:relative}.lane{break-inside:avoid}.tip{display:none!important}
.chart{min-width:0}details::details-content{content-visibility:visible;height:auto}
}
`
