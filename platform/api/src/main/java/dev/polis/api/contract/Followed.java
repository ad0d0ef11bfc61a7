package dev.polis.api.contract;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.annotation.bundle.Capability;

/**
 * Gives the users of a contract a proxy, which switches to the next provider when one is replaced.
 *
 * <p>The contract is an interface of which a node needs one provider; its package is exported.
 * Users bind a contract with any number of providers, such as a role, dynamically; such a contract
 * lacks this annotation.
 *
 * <p>The build writes a capability into the manifest of the bundle that has the contract. A node
 * reads the capability there, so it also follows the contract of a foreign bundle.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
@Capability(namespace = "polis.followed", attribute = "objectClass=${@class}")
public @interface Followed {}
