/**
 * Checks configuration values before an organ uses them.
 *
 * <p>An organ gets its configuration as typed values from the framework; the types only keep words
 * out of numbers. This package checks the rest, such as the range of a port or the name of a
 * security, once and with the same messages for each organ.
 *
 * <pre>
 *   XxxConfig (typed by metatype) ──▶ XxxSettings (a record) ──▶ XxxService
 *                                        │
 *                                        ├─ SettingCheck.of("dev.polis.xxx").port("peer.port", 0)
 *                                        │     └─▶ SettingException:
 *                                        │         dev.polis.xxx.peer.port is "0",
 *                                        │         which is not within 1 to 65535
 *                                        └─ DidYouMean: "perodic" ─▶ did you mean "periodic"?
 * </pre>
 *
 * <p>The launcher uses {@link dev.polis.base.config.DidYouMean} too, for the names of
 * configurations and keys on its command line: it reads what the bundles declare before any of them
 * runs.
 *
 * <p>Not promised: checks of what a value means to the world, such as whether an address belongs to
 * this machine; that is the organ's own work.
 *
 * <p>Why not a validation library: the checks are a dozen lines, and what matters is the sentence,
 * which no library writes.
 */
@Export
@Version("1.1.0")
package dev.polis.base.config;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
