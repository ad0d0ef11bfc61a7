package dev.polis.api.contract;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.annotation.bundle.Capability;

/**
 * Gives the users of a contract a proxy, which continues with the next provider when its provider
 * is replaced.
 *
 * <p>The contract is an interface of which a node needs one provider; its package is exported. A
 * contract that any number of bundles provide, such as a role, is bound by its users dynamically,
 * and has no such annotation.
 *
 * <p>The build writes a capability into the manifest of the bundle that has the contract. A node
 * reads it there, so the contract of a bundle from outside is followed like a contract of Polis.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
@Capability(namespace = "polis.followed", attribute = "objectClass=${@class}")
public @interface Followed {}
