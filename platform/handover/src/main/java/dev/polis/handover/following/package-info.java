/**
 * Gives the users of an organ a proxy of its service, so that the organ can be replaced without
 * stopping them.
 *
 * <pre>
 *   storage 1 ──registers Storage──▶ ┌─────────────────┐                     ┌───────────┐
 *                                    │ ServiceFollower │ ──registers proxy──▶│ consensus │ has the proxy all along
 *   storage 2 ──registers Storage──▶ └─────────────────┘                     └───────────┘
 *    (beside)                          one per contract                  call ──▶ CallGate ──▶ present provider
 * </pre>
 *
 * <p>Declarative Services bind the object of a service for as long as a component lives: if the
 * object goes, so does the component, and all that need it. Here the users are bound to a proxy,
 * and only the proxy knows who provides.
 *
 * <p><b>What a proxy does</b> with a method of the contract:
 *
 * <table>
 *   <caption>Methods</caption>
 *   <tr><th>method</th><th>what happens</th></tr>
 *   <tr><td>returns a {@link dev.polis.base.values.Value}</td><td>the value follows the provider of the
 *   moment: an open watcher continues with the successor's value, returns nothing twice that is
 *   equal to what it returned last, and misses no newest state</td></tr>
 *   <tr><td>returns another interface of the contract's package, has no parameters and throws
 *   nothing checked</td><td>the result is a proxy too</td></tr>
 *   <tr><td>a default method that the provider does not override</td><td>runs on the proxy, so what
 *   it calls follows</td></tr>
 *   <tr><td>any other</td><td>passes through; what the provider throws is thrown</td></tr>
 * </table>
 *
 * <p><b>The provider.</b> The first one stays in use until it goes. If another one is there then,
 * it takes over: new calls go to it, those under way on the first may end, and no user is stopped.
 * If there is none, the proxy goes, and its users are stopped, as they would be without it. A swap
 * that is announced ({@link dev.polis.handover.following.FollowedServices#begin}) changes this: the
 * proxy stays without a provider, and calls wait, for a limited time.
 *
 * <p>While a provider gives its state to its successor ({@link
 * dev.polis.handover.HandOverListener}) neither decides, so calls wait: for the rest of the
 * successor's activation, or until the state is back. Values are read on meanwhile, since what the
 * provider has published stays.
 *
 * <p><b>How users get the proxy.</b> By the framework's service hooks: a bundle that looks for a
 * contract by its name is not shown other bundles' providers, but the proxy. So nothing has to be
 * written into an organ, and a plugin from outside has the same references as a plugin of Polis. A
 * target filter in each reference would do as well, but a plugin that forgets it would be bound to
 * the object and stopped in a swap. The hooks have to be there before the first user: the boot plan
 * starts this bundle before all that need a contract that is followed. The system bundle, this
 * bundle and a provider's own bundle see the provider.
 *
 * <p><b>Which contracts.</b> Those that say so themselves, by {@code
 * dev.polis.api.contract.Followed}; its essay has how. The contract of a bundle from outside is
 * followed as long as that bundle is resolved. Two contracts of one name, of two bundles, are two.
 * A provider is best a bundle beside that of its contract: if the bundle of a contract is replaced,
 * its users are wired again.
 *
 * <p><b>Not promised.</b> That a call which is under way when its provider is retired succeeds: it
 * may end within the drain time, then it is on its own. That state moves from one provider to the
 * next: that is the organs' hand-over. That a value of an organ's own class is let go at once: a
 * watcher that is open and not read keeps the last one it returned.
 *
 * <p><b>Why not</b> dynamic references in each organ? Every organ would need the same code for a
 * provider that is away, at each call. Blueprint's references do what is done here (they call it
 * damping), but know no values to follow, and no end of waiting but a time-out.
 */
@Export
@Version("2.0.0")
package dev.polis.handover.following;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
