/**
 * Runs the pages: every command in README and docs is executed, every screen is compared.
 *
 * <pre>
 *   README.md, docs/*.md ──▶ Page ──▶ Block (console, sh, java) ──▶ PageShell ──▶ ./polis …
 *                              │                                        │
 *                              └── commands within sentences            └── Screen: expected = actual
 *                                       └──▶ CommandCheck
 * </pre>
 *
 * <p>A block of the language {@code console} is a script in the manner of Go's testscript: lines
 * that begin with {@code $} are commands, the lines below are what they print. Times, ids and
 * addresses are placeholders: they are replaced by their kind on both sides, so that a page shows a
 * real screen. A line that is only {@code …} stands for any lines, and within a line for any text.
 * Of a block of the language {@code sh} each command must end with exit code 0. A block of {@code
 * java} must compile against the platform. A comment before a block, {@code <!-- test: … -->}, says
 * what else holds for it; the forms are listed at {@link dev.polis.cluster.it.docs.Block}.
 *
 * <p>Each page has a node of its own: its commands run from top to bottom, as a reader would type
 * them.
 *
 * <p>Not promised: that prose is true. A block that is not run must say why, and the reasons are
 * printed.
 *
 * <p>Why not keep the screens in tests and copy them to the pages? Copies age; a page that is
 * itself the test cannot.
 */
package dev.polis.cluster.it.docs;
