/**
 * Says of a contract what its users may count on.
 *
 * <pre>
 *   &#64;Followed                   manifest of the bundle that has it               a user of Storage
 *   interface Storage  ──build──▶ Provide-Capability: polis.followed;  ──node──▶   is bound to a proxy,
 *                                   objectClass=dev.polis.api.storage.Storage      that follows
 * </pre>
 *
 * <p>A contract speaks for itself: no list elsewhere names those that are followed. The annotation
 * is read by the build alone, so a bundle that uses it imports nothing for it.
 *
 * <p>Why not a property of the service? The provider would decide, each differently, and two
 * versions of it could say different things, while its users are bound to one contract.
 */
@Export
@Version("1.0.0")
package dev.polis.api.contract;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
