/**
 * Declares the properties of a contract for its users.
 *
 * <pre>
 *   &#64;Followed                   manifest of the bundle that has it               a user of Storage
 *   interface Storage  ──build──▶ Provide-Capability: polis.followed;  ──node──▶   is bound to a proxy,
 *                                   objectClass=dev.polis.api.storage.Storage      that follows
 * </pre>
 *
 * <p>The contract itself has the annotation: no other place lists the followed contracts. Only the
 * build reads the annotation, so a bundle imports nothing for it.
 *
 * <p>Why not a property of the service? Then each provider would decide, and two versions of a
 * provider might differ, while its users are bound to one contract.
 */
@Export
@Version("1.0.0")
package dev.polis.api.contract;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
