package dev.polis.container.it;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Marks a class whose tests run inside a framework of their own: {@code @Test} and
 * {@code @ParameterizedTest} methods, and static {@code @BeforeAll} and {@code @AfterAll} methods.
 *
 * <p>Such a class and its methods are public and no two of its methods share a name. Each test has
 * an object of its own inside, which code outside never sees; so arguments have types of the Java
 * runtime, and methods that would run between the two are refused.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(ContainerExtension.class)
@interface ContainerTest {}
