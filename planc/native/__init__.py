"""The configurations of other tools: read with places, checked key by key, and judged by the rules that plans have."""
