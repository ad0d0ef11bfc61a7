package dev.polis.handover;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Looks for classes of an organ in one value that it gives: in the value itself, and in what
 * collections, maps, arrays, optionals and records hold. What other objects hold is their own.
 */
final class ForeignTypes {
  private final String organ;
  private final ClassLoader giver;
  private final String name;

  /** What was looked at; a value may hold itself. */
  private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

  ForeignTypes(String organ, OrganInstance giver, String name) {
    this.organ = organ;
    this.giver = giver.getClass().getClassLoader();
    this.name = name;
  }

  /**
   * Refuses a value of the organ's own classes.
   *
   * @throws HandOverException if it is one, or holds one
   */
  void require(Object value) {
    if (value == null || !seen.add(value)) {
      return;
    }
    requireForeign(value.getClass());
    switch (value) {
      case Object[] several -> {
        for (Object each : several) {
          require(each);
        }
      }
      case Collection<?> several -> several.forEach(this::require);
      case Map<?, ?> several -> {
        several.keySet().forEach(this::require);
        several.values().forEach(this::require);
      }
      case Optional<?> one -> one.ifPresent(this::require);
      case Record several -> {
        for (RecordComponent each : several.getClass().getRecordComponents()) {
          require(component(several, each));
        }
      }
      default -> {
        // One object: its class was looked at above.
      }
    }
  }

  private void requireForeign(Class<?> type) {
    Class<?> innermost = type;
    while (innermost.isArray()) {
      innermost = innermost.getComponentType();
    }
    if (isOwn(innermost)) {
      throw new HandOverException(
          "%s gives \"%s\" as a %s, a class of its own, which the next version does not know; give values of platform types"
              .formatted(organ, name, type.getTypeName()));
    }
  }

  /** Where an organ shares the loader of the platform, as in its unit tests, the name decides. */
  private boolean isOwn(Class<?> type) {
    return type.getClassLoader() == giver
        && (giver != ForeignTypes.class.getClassLoader()
            || type.getName().startsWith("dev.polis." + organ + "."));
  }

  private Object component(Record value, RecordComponent component) {
    try {
      component.getAccessor().setAccessible(true);
      return component.getAccessor().invoke(value);
    } catch (IllegalAccessException | InvocationTargetException | RuntimeException e) {
      throw new HandOverException(
          "%s gives \"%s\", whose part \"%s\" cannot be looked at: %s"
              .formatted(organ, name, component.getName(), e));
    }
  }
}
