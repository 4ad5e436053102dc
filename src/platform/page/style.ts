/** The style of every page. It asks for nothing from outside, fits 320 pixels and grows with the reader's letters. */
export const STYLE = `
:root{color-scheme:light dark;--ground:#f2f4f6;--sheet:#fff;--text:#1b2126;--soft:#525c65;--line:#d5dbe0;--good:#1a6b3c;--bad:#a32020;--note:#eef3f7}
@media (prefers-color-scheme:dark){:root{--ground:#12161a;--sheet:#1b2126;--text:#edf1f4;--soft:#aeb8c1;--line:#3a444d;--good:#7bd3a0;--bad:#ff9d94;--note:#232b32}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%}
.sheet{max-width:44rem;margin:2rem auto;background:var(--sheet);border-top:.4rem solid var(--brand);border-radius:.5rem;box-shadow:0 1px 4px #0002;overflow-wrap:anywhere}
header{padding:1.25rem 2rem;border-bottom:1px solid var(--line)}
header p{margin:0;font-size:1.15rem;font-weight:600}
header img{display:block;height:3rem;width:auto;max-width:100%;object-fit:contain;object-position:left;background:#fff;border-radius:.25rem}
main{padding:1.5rem 2rem 2rem}
h1{margin:0 0 .75rem;font-size:1.6rem;line-height:1.25}
h2{margin:2rem 0 .5rem;font-size:1.1rem}
p{margin:.75rem 0}
small,.soft{color:var(--soft);font-size:.9rem}
.state{display:inline-block;margin:0;font-weight:600}
.good{color:var(--good)}
.bad{color:var(--bad)}
.test{margin:0;padding:.4rem 1rem;background:#ffe08a;color:#3d2c00;text-align:center;font-size:.9rem}
.note{margin:.75rem 0;padding:.75rem 1rem;background:var(--note);border-left:.25rem solid var(--brand);border-radius:.25rem}
dl{display:grid;grid-template-columns:minmax(8rem,auto) 1fr;gap:.25rem 1.25rem;margin:1rem 0}
dt{color:var(--soft)}
dd{margin:0}
table{width:100%;border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.55rem .5rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600}
thead th{color:var(--soft);font-size:.9rem}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
.money{text-align:right;white-space:nowrap}
.whole{white-space:nowrap}
.sum td,.sum th{border-bottom:0;padding-top:.3rem;padding-bottom:.3rem}
.sum th{font-weight:400;text-align:right}
.total td,.total th{font-weight:700;font-size:1.1rem;border-top:2px solid var(--text)}
.lines{white-space:pre-line;color:var(--soft);font-size:.9rem}
form{margin:1.25rem 0 0}
.field{margin:1rem 0}
.field label{display:block;margin-bottom:.25rem;font-weight:600}
.field small{display:block;margin-top:.25rem}
input,select{width:100%;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--soft);border-radius:.4rem;background:var(--sheet);color:inherit;font:inherit}
[aria-invalid=true]{border:2px solid var(--bad)}
button,.button{display:inline-block;min-height:2.75rem;padding:.65rem 1.4rem;border:2px solid var(--brand);border-radius:.4rem;background:var(--brand);color:#fff;font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
.bank{display:block;width:100%;height:30rem;margin:1rem 0;border:1px solid var(--soft);border-radius:.5rem}
.plain{background:transparent;border-color:var(--soft);color:var(--text)}
.due{margin:0;font-size:1.1rem}.due strong{display:block;font-size:2rem;line-height:1.3;font-variant-numeric:tabular-nums}
.actions{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.25rem 0 0}
.actions form{margin:0}
fieldset{margin:1.5rem 0 0;padding:0;border:0}
legend{padding:0;font-size:1.1rem;font-weight:700}
.check{display:flex;gap:.75rem;align-items:flex-start}
.check input{width:1.5rem;height:1.5rem;min-height:0;padding:0;flex:none;margin:0}
.pad{display:block;width:100%;max-width:37.5rem;aspect-ratio:3;border:1px solid var(--soft);border-radius:.4rem;touch-action:none;cursor:crosshair}
[hidden]{display:none}
a{color:inherit;text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--text);outline-offset:3px}
[tabindex="-1"]:focus{outline:0}
@media (max-width:40rem){.sheet{margin:0;border-radius:0;box-shadow:none;min-height:100vh}header,main{padding-left:1rem;padding-right:1rem}h1{font-size:1.35rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}.wide{display:none}button,.button,.actions form{width:100%;text-align:center}button+button{margin-top:.75rem}}
.framed .tall{min-height:40rem}
.framed body{background:var(--sheet)}
.framed .sheet{max-width:none;min-height:0;margin:0;border-radius:0;box-shadow:none}
@media print{.test,form,.actions{display:none}.sheet{margin:0;max-width:none;box-shadow:none}body{background:#fff}}
`
