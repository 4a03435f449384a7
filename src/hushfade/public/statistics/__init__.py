"""What a plan can release about its records."""

from hushfade.public.statistics.count import Count

__all__ = ["Count"]
